/**
 * Prints what a store does under load with threads and without: `npm run load`, and `npm run load-firefox`.
 *
 * 1. Sustained load: puts of new and old rows in random order, in turns with and without threads, until no
 *    compaction is due. Both stores are then compared, entry by entry.
 * 2. An open loop: gets and puts, each a call, that are due at an even rate, half of what a store without
 *    threads sustained with 64 of them outstanding, each timed from when it was due. The page wakes up each
 *    millisecond and makes those that are due. The same loop with nothing to do shows what the machine
 *    delays, and with a worker that only replies, what page and messages do.
 * 3. For each policy, the longest time in which the worker of a store without threads took no message, and the
 *    longest that a file took to be flushed to the device, which the worker waits for.
 *
 * `TERRANE_LOAD_ROWS` is the number of puts of each turn, `TERRANE_LOAD_SECONDS` the time of an open loop.
 */

import { readFileSync } from "node:fs";
import { expect, openStorePage, type Page, test } from "./fixtures.ts";
import { ISOLATED } from "./server.ts";

const number = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise);
const ROWS = number("TERRANE_LOAD_ROWS", 300_000);
const SECONDS = number("TERRANE_LOAD_SECONDS", 20);
const ROUNDS = 3;
const OUTSTANDING = 64;
/** Batches of 100 rows that are outstanding under a sustained load. */
const BATCHES = 4;

const THREADS = [false, 2] as const;
type Threads = (typeof THREADS)[number];
const named = (threads: Threads) => (threads === false ? "without threads" : "with threads");

/** Loops that call no store. */
const LOOPS = { nothing: "nothing to do", echo: "a worker that only replies" } as const;
type LoopStore = Threads | keyof typeof LOOPS;

/** Under which load is sustained: one whose merges are shared, one with buckets, one with partitions. */
const POLICIES = [
  { policy: "leveled", maxSubcompactions: 2 },
  { policy: "bucket" },
  { policy: "universal", partitioner: "global-range", flushFloorBytes: 64 << 10 },
] as const;

const sorted = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
const at = (numbers: readonly number[], part: number) =>
  sorted(numbers)[Math.floor(part * (numbers.length - 1))] ?? 0;

/** Functions that pages get. */
function install() {
  const random = (seed: number) => () => (seed = (seed * 48271) % 0x7fffffff);
  const text = "v".repeat(50);
  const row = (next: () => number, rows: number) => {
    const noise = Array.from({ length: 6 }, () => next().toString(36)).join("");
    return { key: `${next() % rows}`.padStart(16, "0"), value: noise.padEnd(50, "x") + text };
  };
  /** Flushes; returns the time of the last event, once a second has passed without another. */
  const idle = async (db: typeof window.db) => {
    let last = performance.now();
    void (async () => {
      for await (const event of db.events()) [, last] = [event, performance.now()];
    })();
    await db.flush();
    // A merge has up to 32 events of its progress.
    while (performance.now() - last < 1000) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return last;
  };
  /** Loads a store; returns the seconds until all was taken, and until no compaction was due. */
  const load = async (
    name: string,
    options: object,
    rows: number,
    seed: number,
    batches: number,
  ) => {
    const db = await window.terrane.open(name, options);
    const next = random(seed);
    const began = performance.now();
    // Some are outstanding, so that the page makes rows while the store's worker writes others.
    const writes: Promise<unknown>[] = [];
    for (let done = 0; done < rows; done += 100) {
      const put = () => ({ type: "put" as const, ...row(next, rows) });
      writes.push(db.batch(Array.from({ length: 100 }, put)));
      if (writes.length > batches) await writes.shift();
    }
    await Promise.all(writes);
    const taken = (performance.now() - began) / 1000;
    const seconds = ((await idle(db)) - began) / 1000;
    const { background } = await db.stats();
    await db.close();
    return { taken, seconds, background };
  };
  /** Compares two stores, entry by entry; returns how many entries they have. */
  const compare = async (names: readonly string[]) => {
    const dbs = await Promise.all(names.map((name) => window.terrane.open(name)));
    const [one, other] = dbs.map((db) => db.entries());
    if (one === undefined || other === undefined) throw new Error("two stores");
    const second = other[Symbol.asyncIterator]();
    let count = 0;
    for await (const entry of one) {
      const { value } = await second.next();
      if (JSON.stringify(entry) !== JSON.stringify(value)) throw new Error(`entry ${count}`);
      count += 1;
    }
    if (!(await second.next()).done) throw new Error("more entries");
    await Promise.all(dbs.map((db) => db.close()));
    return count;
  };
  /** A worker without a store: each get finds 100 bytes. */
  const echo = () => {
    const script = `
      const found = new Uint8Array(108);
      new DataView(found.buffer).setUint32(0, 1, true);
      new DataView(found.buffer).setUint32(4, 100, true);
      const text = "v".repeat(100);
      const answer = ({ id, op }) => ({ id, value: op === "get" ? found.slice() : id });
      // A single lookup has five fields, a single write three.
      const one = ([id, ...fields]) => [id, fields.length === 4 ? text : id];
      onmessage = ({ data }) =>
        postMessage(typeof data[0] === "number" ? one(data) : data.map(answer));`;
    return new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  };
  /** Runs a loop, open at a rate, else with outstanding calls. Returns calls a second, and their milliseconds. */
  const loop = async (
    name: string | undefined,
    options: object,
    { rate = Infinity, outstanding: most = Infinity }: LoopPace,
    seconds: number,
    rows: number,
  ) => {
    const db =
      name === undefined
        ? undefined
        : await window.terrane.open(name, name === "echo" ? { worker: echo } : options);
    const next = random(7);
    const times = { put: [] as number[], get: [] as number[] };
    // A page that waited for each moment in a loop would take a whole core from the store.
    const script = `
      const cell = new Int32Array(new SharedArrayBuffer(4));
      for (;;) {
        Atomics.wait(cell, 0, 0, 1);
        postMessage(undefined);
      }`;
    const clock = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const tick = () => new Promise((resolve) => (clock.onmessage = resolve));
    const turns = new MessageChannel();
    const turn = () =>
      new Promise((resolve) => {
        turns.port1.onmessage = resolve;
        turns.port2.postMessage(undefined);
      });
    let [failure, outstanding]: [unknown, number] = [undefined, 0];
    const began = performance.now();
    const [end, interval] = [began + seconds * 1000, 1000 / rate];
    let n = 0;
    for (; (rate === Infinity ? performance.now() : began + n * interval) < end; n++) {
      while (performance.now() < began + n * interval || outstanding >= most) {
        await (rate === Infinity ? turn() : tick());
      }
      const due = rate === Infinity ? performance.now() : began + n * interval;
      const { key, value } = row(next, rows);
      const kind = n % 2 === 0 ? "put" : "get";
      const done = kind === "put" ? db?.put(key, value) : db?.get(key);
      outstanding += 1;
      Promise.resolve(done)
        .then(() => times[kind].push(performance.now() - due))
        .catch((error: unknown) => (failure = error))
        .finally(() => (outstanding -= 1));
    }
    while (outstanding > 0) await turn();
    if (failure !== undefined) throw failure;
    const perSecond = (n * 1000) / (performance.now() - began);
    clock.terminate();
    await db?.close();
    return { times, perSecond };
  };
  Object.assign(window, { load, compare, loop, idle, row, random });
}

/** At how many calls a second, or with how many outstanding. */
type LoopPace = { rate?: number; outstanding?: number };

declare global {
  interface Window {
    load(
      name: string,
      options: object,
      rows: number,
      seed: number,
      batches: number,
    ): Promise<{ taken: number; seconds: number; background?: { busyMicros: number[] } }>;
    compare(names: readonly string[]): Promise<number>;
    loop(
      name: string | undefined,
      options: object,
      pace: LoopPace,
      seconds: number,
      rows: number,
    ): Promise<{ times: Record<"put" | "get", number[]>; perSecond: number }>;
  }
}

test("sustained load and an open loop, with threads and without", async ({ context, origin }) => {
  test.setTimeout(3_600_000);
  const page = await openStorePage(context, origin, ISOLATED);
  await page.evaluate(install);
  for (const policy of POLICIES) {
    const found = new Map<Threads, number[]>(THREADS.map((threads) => [threads, []]));
    for (let round = 0; round < ROUNDS; round++) {
      const turns = round % 2 === 0 ? THREADS : [...THREADS].reverse();
      const names: string[] = [];
      for (const threads of turns) {
        const name = `${policy.policy}-${threads}-${round}`;
        names.push(name);
        const { taken, seconds, background } = await page.evaluate(
          ([name, options, rows, seed, batches]) => window.load(name, options, rows, seed, batches),
          [name, { policy, threads }, ROWS, round + 1, BATCHES] as const,
        );
        found.get(threads)?.push(ROWS / seconds);
        const busy = background?.busyMicros.map((micros) => (micros / 1e6).toFixed(1)).join(", ");
        console.log(
          `${JSON.stringify(policy)} ${named(threads)}: taken in ${taken.toFixed(1)} s, ` +
            `idle after ${seconds.toFixed(1)} s${busy ? `; workers busy for ${busy} s` : ""}`,
        );
      }
      const entries = await page.evaluate((names) => window.compare(names), names);
      console.log(`the stores are equal: ${entries} entries`);
      await page.evaluate(
        (names) => Promise.all(names.map((name) => window.terrane.destroy(name))),
        names,
      );
    }
    const [alone, pooled] = THREADS.map((threads) => at(found.get(threads) ?? [], 0.5));
    console.log(
      `${JSON.stringify(policy)}: ${alone?.toFixed(0)} puts a second without threads, ` +
        `${pooled?.toFixed(0)} with: ${((pooled ?? 0) / (alone ?? 1)).toFixed(2)}x`,
    );
  }
  const loop = (store: LoopStore, pace: LoopPace) =>
    page.evaluate(
      ([name, options, pace, seconds, rows]) =>
        window.loop(name ?? undefined, options, pace, seconds, rows),
      [
        store === "nothing" ? null : store === "echo" ? store : `loop-${store}-${Math.random()}`,
        typeof store === "string" ? {} : { threads: store },
        pace,
        SECONDS,
        ROWS,
      ] as const,
    );
  const { perSecond } = await loop(false, { outstanding: OUTSTANDING });
  console.log(
    `${perSecond.toFixed(0)} calls a second with ${OUTSTANDING} outstanding, without threads`,
  );
  const rate = Math.round(perSecond / 2);
  const stores: LoopStore[] = ["nothing", "echo", ...THREADS];
  for (const store of [...stores, ...[...stores].reverse()]) {
    const { times } = await loop(store, { rate });
    for (const kind of ["put", "get"] as const) {
      const parts = [0.5, 0.99, 0.999, 1].map((part) => at(times[kind], part).toFixed(2));
      console.log(
        `open loop of ${rate} a second, ${typeof store === "string" ? LOOPS[store] : named(store)}, ` +
          `${kind}: p50 ${parts[0]}, p99 ${parts[1]}, p99.9 ${parts[2]}, longest ${parts[3]} ms`,
      );
    }
  }
});

/** The names of all policies. */
function policies(): string[] {
  const file = new URL("../../bindings-js/src/api/policies.ts", import.meta.url);
  return [...readFileSync(file, "utf8").matchAll(/ policy: "([a-z-]+)";/g)].map(
    ([, name]) => name!,
  );
}

/** Measures the longest time in which a store's worker took no message, and the writes meanwhile. */
function pause(page: Page, policy: string, rows: number) {
  return page.evaluate(
    async ([policy, rows]) => {
      // A message to itself again and again: in between it takes one of each other kind.
      const worker = () => {
        const script = `
          import "${location.origin}/terrane/dist/worker.js";
          const { port1, port2 } = new MessageChannel();
          const pauses = new BroadcastChannel("pauses-${policy}");
          let [last, longest, longestFlush] = [performance.now(), 0, 0];
          const { prototype } = FileSystemSyncAccessHandle;
          const { flush } = prototype;
          prototype.flush = function () {
            const began = performance.now();
            flush.call(this);
            longestFlush = Math.max(longestFlush, performance.now() - began);
          };
          port1.onmessage = () => {
            const now = performance.now();
            longest = Math.max(longest, now - last);
            last = now;
            port2.postMessage(undefined);
          };
          port2.postMessage(undefined);
          pauses.onmessage = ({ data }) => {
            if (data === "begin") longest = longestFlush = 0;
            else pauses.postMessage({ longest, longestFlush });
          };`;
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        return new Worker(url, { type: "module" });
      };
      const db = await window.terrane.open(`pause-${policy}`, {
        policy: { policy } as { policy: "leveled" },
        policies: "all",
        worker,
      });
      const pauses = new BroadcastChannel(`pauses-${policy}`);
      const next = window.random(3);
      await db.put("first", "opens the files");
      pauses.postMessage("begin");
      for (let done = 0; done < rows; done += 100) {
        const put = () => ({ type: "put" as const, ...window.row(next, rows) });
        await db.batch(Array.from({ length: 100 }, put));
      }
      await window.idle(db);
      const found = await new Promise<{ longest: number; longestFlush: number }>((resolve) => {
        pauses.onmessage = ({ data }) => resolve(data);
        pauses.postMessage("end");
      });
      const { mergeWrittenBytes } = await db.stats();
      await db.close();
      await window.terrane.destroy(`pause-${policy}`);
      return { ...found, mergeWrittenBytes };
    },
    [policy, rows] as const,
  );
}

declare global {
  interface Window {
    random(seed: number): () => number;
    row(next: () => number, rows: number): { key: string; value: string };
    idle(db: Window["db"]): Promise<number>;
  }
}

test("the longest pause of a worker without threads, by policy", async ({ storePage }) => {
  test.setTimeout(3_600_000);
  const page = await storePage();
  await page.evaluate(install);
  for (const policy of policies()) {
    const { longest, longestFlush, mergeWrittenBytes } = await pause(page, policy, ROWS);
    expect(mergeWrittenBytes).toBeGreaterThan(0);
    const written = (mergeWrittenBytes / 1e6).toFixed(0);
    console.log(
      `${policy}: at most ${longest.toFixed(1)} ms, and a flush of a file ` +
        `${longestFlush.toFixed(1)} ms; ${written} MB merged meanwhile`,
    );
  }
});
