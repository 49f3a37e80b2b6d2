/**
 * Prints what it costs where the handles of a store's files are: `npm run owner`. With threads, a worker of the pool
 * asks for what it reads, and so does the store's worker unless it has the handles itself.
 *
 * 1. `owner`: the store's worker has them. It reads directly, and serves the pool between messages, which it waits
 *    for by `Atomics.waitAsync`.
 * 2. `I/O worker`: a worker of its own has them, blocks until it is asked, and serves both.
 *
 * Each is measured reading 4 KiB at a time as gets do, 256 KiB at a time as one worker of the pool does in a merge,
 * and both at once, where gets are messages of the page. They take turns, round by round. What is read is in the memory
 * of the operating system. `TERRANE_OWNER_SECONDS` is the time of each measurement.
 */

import { expect, openStorePage, type Page, test } from "./fixtures.ts";
import { ISOLATED } from "./server.ts";

const SECONDS = Number(process.env["TERRANE_OWNER_SECONDS"] ?? 1);
const ROUNDS = 5;

const PLACES = ["owner", "I/O worker"] as const;
type Place = (typeof PLACES)[number];

/** Measurements of a place. */
interface Measured {
  /** Microseconds of a read of 4 KiB by the store's worker, while nothing else runs. */
  readMicros: number;
  /** MB a second that the worker of the pool reads, while nothing else runs. */
  alone: number;
  /** The same beside gets, and microseconds of these: the median, and the 99th of a hundred. */
  beside: number;
  getMicros: number;
  getMicrosMost: number;
}

/** Code of the asking and the serving workers: files, and the cells of requests. */
const shared = `
  const [FILE_BYTES, GET_BYTES, CHUNK_BYTES] = [64 << 20, 4 << 10, 256 << 10];
  /* A cell: whether something is asked for, where, and how much; then the bytes that were read. */
  const [STATE, AT, LENGTH, WORDS] = [0, 1, 2, 4];
  const CELL_BYTES = 4 * WORDS + CHUNK_BYTES;
  const cell = (memory, n) => ({
    words: new Int32Array(memory, 4 + n * CELL_BYTES, WORDS),
    bytes: new Uint8Array(memory, 4 + n * CELL_BYTES + 4 * WORDS, CHUNK_BYTES),
  });
  const bell = (memory) => new Int32Array(memory, 0, 1);
  const openFile = async () => {
    const root = await navigator.storage.getDirectory();
    const file = await root.getFileHandle("owned", { create: true });
    const handle = await file.createSyncAccessHandle();
    if (handle.getSize() < FILE_BYTES) {
      const chunk = new Uint8Array(CHUNK_BYTES).fill(7);
      for (let at = 0; at < FILE_BYTES; at += CHUNK_BYTES) handle.write(chunk, { at });
      handle.flush();
    }
    return handle;
  };
  /* Reads for whoever asks. */
  const serve = (handle, cells) => {
    for (const { words, bytes } of cells) {
      if (Atomics.load(words, STATE) !== 1) continue;
      handle.read(bytes.subarray(0, words[LENGTH]), { at: words[AT] });
      Atomics.store(words, STATE, 0);
      Atomics.notify(words, STATE);
    }
  };
  /* Has another worker read. */
  const ask = (memory, { words, bytes }, at, length) => {
    [words[AT], words[LENGTH]] = [at, length];
    Atomics.store(words, STATE, 1);
    Atomics.add(bell(memory), 0, 1);
    Atomics.notify(bell(memory), 0);
    Atomics.wait(words, STATE, 1);
    return bytes;
  };
  let random = 1;
  const place = (bytes) => {
    random = (random * 48271) % 0x7fffffff;
    return (random % (FILE_BYTES / bytes)) * bytes;
  };`;

/** The store's worker: it has the handle, or has the other worker read. */
const store = `${shared}
  onmessage = async ({ data: { memory, owns } }) => {
    const cells = [cell(memory, 0), cell(memory, 1)];
    const own = new Uint8Array(CHUNK_BYTES);
    const handle = owns ? await openFile() : undefined;
    const get = () => {
      const at = place(GET_BYTES);
      if (handle === undefined) return ask(memory, cells[1], at, GET_BYTES)[0];
      handle.read(own.subarray(0, GET_BYTES), { at });
      return own[0];
    };
    const listen = async () => {
      for (;;) {
        const rung = Atomics.load(bell(memory), 0);
        serve(handle, cells);
        const wait = Atomics.waitAsync(bell(memory), 0, rung);
        // As in the pool: messages that have arrived run before.
        await (wait.async ? wait.value : turn());
      }
    };
    const turns = new MessageChannel();
    const turn = () =>
      new Promise((resolve) => {
        turns.port1.onmessage = resolve;
        turns.port2.postMessage(undefined);
      });
    onmessage = ({ data }) => {
      if (data === "get") postMessage(get());
      else {
        const began = performance.now();
        let reads = 0;
        while (performance.now() - began < data) for (let n = 0; n < 100; n++, reads++) get();
        postMessage(((performance.now() - began) * 1000) / reads);
      }
    };
    if (owns) void listen();
    postMessage("ready");
  };`;

/** The I/O worker, which blocks. */
const io = `${shared}
  onmessage = async ({ data: { memory } }) => {
    const cells = [cell(memory, 0), cell(memory, 1)];
    const handle = await openFile();
    postMessage("ready");
    for (;;) {
      const rung = Atomics.load(bell(memory), 0);
      serve(handle, cells);
      Atomics.wait(bell(memory), 0, rung);
    }
  };`;

/** A worker of the pool: reads for some milliseconds, and says how many MB a second. */
const pool = `${shared}
  onmessage = ({ data: { memory } }) => {
    const mine = cell(memory, 0);
    onmessage = ({ data }) => {
      const began = performance.now();
      let bytes = 0;
      for (; performance.now() - began < data; bytes += CHUNK_BYTES) {
        if (ask(memory, mine, place(CHUNK_BYTES), CHUNK_BYTES)[0] !== 7) throw new Error("read");
      }
      postMessage(bytes / (performance.now() - began) / 1000);
    };
    postMessage("ready");
  };`;

/** Starts the workers of a place, and measures. */
function measure(page: Page, place: Place, millis: number): Promise<Measured> {
  return page.evaluate(
    async ([scripts, owns, millis]) => {
      const memory = new SharedArrayBuffer(1 << 20);
      const start = async (script: string) => {
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        const worker = new Worker(url);
        const call = <T>(message: unknown) =>
          new Promise<T>((resolve, reject) => {
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = ({ message }) => reject(new Error(message));
            worker.postMessage(message);
          });
        await call({ memory, owns });
        return { worker, call };
      };
      const others = owns ? [] : [await start(scripts.io)];
      const [store, pool] = [await start(scripts.store), await start(scripts.pool)];
      await pool.call(millis / 10);
      const readMicros = await store.call<number>(millis);
      const alone = await pool.call<number>(millis);
      const times: number[] = [];
      let beside: number | undefined;
      const reading = pool.call<number>(millis).then((found) => (beside = found));
      while (beside === undefined) {
        const began = performance.now();
        if ((await store.call<number>("get")) !== 7) throw new Error("read");
        times.push((performance.now() - began) * 1000);
      }
      await reading;
      times.sort((a, b) => a - b);
      for (const { worker } of [store, pool, ...others]) worker.terminate();
      const at = (part: number) => times[Math.floor(part * (times.length - 1))] ?? 0;
      return { readMicros, alone, beside, getMicros: at(0.5), getMicrosMost: at(0.99) };
    },
    [{ store, io, pool }, place === "owner", millis] as const,
  );
}

test("the owner of the handles, or a worker for them", async ({ browserName, context, origin }) => {
  const page = await openStorePage(context, origin, ISOLATED);
  const found = new Map<Place, Measured[]>(PLACES.map((place) => [place, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const place of round % 2 === 0 ? PLACES : [...PLACES].reverse()) {
      // The handle of the round before is closed some time after its worker was terminated.
      await expect.poll(() => page.workers().length).toBe(0);
      found.get(place)?.push(await measure(page, place, SECONDS * 1000));
    }
  }
  for (const [place, rounds] of found) {
    const median = (of: keyof Measured) =>
      rounds.map((round) => round[of]).sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
    console.log(
      `${browserName}, ${place}: a read of 4 KiB ${median("readMicros").toFixed(1)} us; ` +
        `the pool reads ${median("alone").toFixed(0)} MB/s, beside gets ` +
        `${median("beside").toFixed(0)} MB/s; these take p50 ${median("getMicros").toFixed(0)}, ` +
        `p99 ${median("getMicrosMost").toFixed(0)} us`,
    );
  }
});
