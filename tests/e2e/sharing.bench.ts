/**
 * Prints what sharing a store costs: `npm run sharing`.
 *
 * 1. The time from the end of the page that leads to the next answer in a page that follows, for stores of several
 *    sizes: the leader's process is killed, or its store is closed. The follower gets keys without a pause, and the
 *    longest pause between two answers ends with the answer of the new leader. Where one process has both pages, the
 *    kill is tried again with others.
 * 2. The rate of messages of these calls' sizes and their echoes, between a page and its own worker, and between a page
 *    and the worker of another over a `BroadcastChannel`: no follower can be faster.
 * 3. The rate of calls in a page that follows and in the one that leads, and that of IndexedDB in the first: gets that
 *    are awaited, 64 gets at a time, batches and scans. The three take turns.
 *
 * `TERRANE_SHARING_ROUNDS` is the number of rounds, whose medians are printed.
 */

import { expect, openStorePage, type Page, test } from "./fixtures.ts";

const ROUNDS = Number(process.env["TERRANE_SHARING_ROUNDS"] ?? 9);
const SIZES = [0, 10, 100];
const ROWS = 20_000;

/** The time of each answer, in milliseconds since the epoch, until the page is asked for them. */
declare const answers: number[];

function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** Opens the store in a page, and puts `megabytes` of values into it. */
async function opened(page: Page, name: string, megabytes = 0): Promise<void> {
  await page.evaluate(
    async ({ name, megabytes }) => {
      window.db = await window.terrane.open(name);
      for (let at = 0; at < megabytes; at++) {
        await window.db.batch(
          Array.from({ length: 1000 }, (_, row) => {
            const key = `${at}/${row}`.padStart(16, "0");
            return { type: "put" as const, key, value: key.repeat(62) };
          }),
        );
      }
      await window.db.sync();
    },
    { name, megabytes },
  );
}

/** Gets keys without a pause, and notes the time of each answer. */
async function follow(page: Page): Promise<void> {
  await page.evaluate(() => {
    const answers: number[] = [];
    Object.assign(window, { answers });
    const get = async () => {
      for (;;) {
        await window.db.get("0");
        answers.push(performance.timeOrigin + performance.now());
      }
    };
    get().catch(() => undefined);
  });
  await page.waitForFunction(() => answers.length > 100);
}

/** The time from `since` to the end of the longest pause after it. */
async function pause(page: Page, since: number): Promise<number> {
  await page.waitForFunction(() => window.db.role === "leader");
  const times = await page.evaluate(() => answers);
  const after = times.filter((time) => time > since);
  const before = times[times.length - after.length - 1] ?? since;
  const pauses = after.map((time, at) => [time - (after[at - 1] ?? before), time] as const);
  const [, end] = pauses.reduce((longest, one) => (one[0] > longest[0] ? one : longest));
  return end - since;
}

for (const how of ["kill", "handover"] as const) {
  for (const megabytes of SIZES) {
    test(`${how}, ${megabytes} MB`, async ({ context, storePage, origin }) => {
      const name = `${how}-${megabytes}`;
      const times: number[] = [];
      let leader = await storePage();
      await opened(leader, name, megabytes);
      while (times.length < ROUNDS) {
        const follower = await openStorePage(context, origin);
        let isKilled = false;
        leader.on("crash", () => (isKilled = true));
        await opened(follower, name);
        await follow(follower);
        const since = Date.now();
        if (how === "kill") {
          const protocol = await context.newCDPSession(leader);
          void protocol.send("Page.crash").catch(() => undefined);
          while (!isKilled) await new Promise((passed) => setTimeout(passed, 1));
        } else {
          await leader.evaluate(() => window.db.close());
        }
        const time = await pause(follower, since).catch(() => undefined);
        await leader.close();
        leader = follower;
        if (time !== undefined) times.push(time);
        else {
          // The process had both.
          leader = await openStorePage(context, origin);
          await opened(leader, name);
        }
      }
      const [least, most] = [Math.min(...times), Math.max(...times)];
      console.log(
        `${how} of the leader of ${megabytes} MB: an answer after ${median(times).toFixed(0)} ms ` +
          `(${least.toFixed(0)} to ${most.toFixed(0)})`,
      );
    });
  }
}

/** The rate of echoes in a page. */
declare const echoes: (gets: number) => Promise<number>;

test("echoes", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  for (const page of [leader, follower]) {
    await page.evaluate(async (starts) => {
      const script = `
        const channel = new BroadcastChannel("echo");
        const echo = (gets) => [{ id: 1, value: new Uint8Array(100 * gets) }];
        channel.onmessage = ({ data }) => channel.postMessage(echo(data[0].gets));
        onmessage = ({ data }) => postMessage(echo(data[0].gets));
        postMessage("started");`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      // Like a follower, the other page shares the channel with the worker alone.
      const line = starts ? new Worker(url) : new BroadcastChannel("echo");
      if (starts) await new Promise((started) => (line.onmessage = started));
      const rounds = 2000;
      const echoes = async (gets: number) => {
        const request = [{ op: "get", id: 1, gets, keys: new Uint8Array(20 * gets) }];
        const start = performance.now();
        for (let round = 0; round < rounds; round++) {
          await new Promise((arrived) => {
            line.onmessage = arrived;
            line.postMessage(request);
          });
        }
        line.onmessage = null;
        return (rounds * gets * 1000) / (performance.now() - start);
      };
      Object.assign(window, { echoes });
    }, page === leader);
  }
  for (const gets of [1, 64]) {
    const found: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      await leader.bringToFront();
      found[0].push(await leader.evaluate((gets) => echoes(gets), gets));
      await follower.bringToFront();
      found[1].push(await follower.evaluate((gets) => echoes(gets), gets));
    }
    const [own, other] = found.map(median) as [number, number];
    console.log(
      `echoes of ${gets} gets: ${other.toFixed(0)} gets/s over a BroadcastChannel, ` +
        `${(other / own).toFixed(2)} of ${own.toFixed(0)} by postMessage`,
    );
  }
});

/** The kinds of calls. Each function returns the number of rows a second. */
const KINDS = ["gets awaited", "64 gets at a time", "batches of 1000", "scans"] as const;
type Rates = Record<(typeof KINDS)[number], () => Promise<number>>;
declare const rates: Record<"terrane" | "IndexedDB", Rates>;

/** Makes the calls of a page; it has the store as `db`. */
async function install(page: Page): Promise<void> {
  await page.evaluate(async (rows) => {
    const keyOf = (row: number) => `${row % rows}`.padStart(16, "0");
    const random = () => keyOf(Math.floor(Math.random() * rows));
    const rate = async (count: number, call: () => Promise<unknown>, rowsOf: number) => {
      const start = performance.now();
      for (let at = 0; at < count; at++) await call();
      return (count * rowsOf * 1000) / (performance.now() - start);
    };
    const batch = () => Array.from({ length: 1000 }, random);
    const { db } = window;
    const group = (get: (key: string) => Promise<unknown>) => () =>
      Promise.all(Array.from({ length: 64 }, () => get(random())));
    const get = (key: string) => db.get(key);
    const put = () =>
      db.batch(batch().map((key) => ({ type: "put" as const, key, value: key.repeat(6) })));
    const scan = async () => {
      for await (const _ of db.entries());
    };
    const idb = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open(`sharing-${performance.timeOrigin}`);
      request.onupgradeneeded = () => request.result.createObjectStore("rows");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const within = <T>(mode: IDBTransactionMode, body: (rows: IDBObjectStore) => T) =>
      new Promise<void>((resolve, reject) => {
        const transaction = idb.transaction("rows", mode, { durability: "relaxed" });
        transaction.oncomplete = () => resolve();
        transaction.onerror = () => reject(transaction.error);
        body(transaction.objectStore("rows"));
      });
    const putRows = (keys: string[]) =>
      within("readwrite", (store) => keys.forEach((key) => store.put(key.repeat(6), key)));
    for (let row = 0; row < rows; row += 1000) {
      await putRows(Array.from({ length: 1000 }, (_, at) => keyOf(row + at)));
    }
    const getRow = (key: string) => within("readonly", (store) => store.get(key));
    const getRows = () =>
      within("readonly", (store) => {
        for (let at = 0; at < 64; at++) store.get(random());
      });
    const scanRows = () =>
      within("readonly", (store) => {
        store.getAllKeys();
        store.getAll();
      });
    Object.assign(window, {
      rates: {
        terrane: {
          "gets awaited": () => rate(2000, () => get(random()), 1),
          "64 gets at a time": () => rate(100, group(get), 64),
          "batches of 1000": () => rate(10, put, 1000),
          scans: () => rate(3, scan, rows),
        },
        IndexedDB: {
          "gets awaited": () => rate(2000, () => getRow(random()), 1),
          "64 gets at a time": () => rate(100, getRows, 64),
          "batches of 1000": () => rate(10, () => putRows(batch()), 1000),
          scans: () => rate(3, scanRows, rows),
        },
      },
    });
  }, ROWS);
}

test("calls", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await opened(leader, "calls");
  await opened(follower, "calls");
  await leader.evaluate(async (rows) => {
    for (let row = 0; row < rows; row += 1000) {
      await window.db.batch(
        Array.from({ length: 1000 }, (_, at) => {
          const key = `${row + at}`.padStart(16, "0");
          return { type: "put" as const, key, value: key.repeat(6) };
        }),
      );
    }
    await window.db.flush();
  }, ROWS);
  for (const page of [leader, follower]) await install(page);
  const run = (page: Page, of: "terrane" | "IndexedDB", kind: (typeof KINDS)[number]) =>
    page.evaluate(({ of, kind }) => rates[of][kind](), { of, kind });
  for (const kind of KINDS) {
    const found: Record<string, number[]> = { leader: [], follower: [], IndexedDB: [] };
    // The first round warms up, and its rates do not count.
    for (let round = 0; round <= ROUNDS; round++) {
      // Only a page in front is not slowed down.
      await leader.bringToFront();
      const leads = await run(leader, "terrane", kind);
      await follower.bringToFront();
      const follows = await run(follower, "terrane", kind);
      const other = await run(follower, "IndexedDB", kind);
      if (round === 0) continue;
      found["leader"]?.push(leads);
      found["follower"]?.push(follows);
      found["IndexedDB"]?.push(other);
    }
    expect(await leader.evaluate(() => window.db.role)).toBe("leader");
    const [leads, follows, other] = Object.values(found).map(median) as [number, number, number];
    console.log(
      `${kind}: ${follows.toFixed(0)} rows/s in a follower, ${(follows / leads).toFixed(2)} of ` +
        `${leads.toFixed(0)} in the leader's page; IndexedDB ${other.toFixed(0)}`,
    );
  }
});
