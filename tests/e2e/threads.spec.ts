/** The engine with threads: where it runs, that it keeps what was written, and how it ends. */

import { readFileSync } from "node:fs";
import type { Stats } from "../../bindings-js/dist/client/index.js";
import { test as base, expect, openStorePage, type Page } from "./fixtures.ts";
import { patient } from "./patience.ts";
import { isolation, ISOLATED } from "./server.ts";

const policies = [
  { policy: "leveled" },
  { policy: "universal", partitioner: "global-range", flushFloorBytes: 4 << 10 },
  { policy: "leveled", maxSubcompactions: 4 },
  { policy: "tiered" },
  { policy: "bucket" },
  { policy: "ptier", prefixLength: 3, splitBytes: 4 << 10, levelBaseBytes: 64 << 10 },
] as const;

/** Loads a store until it has compacted, beside a model; returns its statistics and where they differ. */
function load(page: Page, threads: number | false, policy: (typeof policies)[number]) {
  return page.evaluate(
    async ([threads, policy]) => {
      const { open } = window.terrane;
      const name = `load-${threads}-${JSON.stringify(policy)}`;
      const options = { policy, threads, memtableBytes: 64 << 10, cacheBytes: 0 };
      const db = await open(name, options);
      const model = new Map<string, string>();
      let random = 1;
      const next = (bound: number) => {
        random = (random * 48271) % 0x7fffffff;
        return random % bound;
      };
      for (let batch = 0; batch < 150; batch++) {
        const operations = Array.from({ length: 50 }, () => {
          const key = `${next(5000)}`.padStart(6, "0");
          if (next(5) === 0) {
            model.delete(key);
            return { type: "delete" as const, key };
          }
          const value = `${next(1e9)}`.repeat(12);
          model.set(key, value);
          return { type: "put" as const, key, value };
        });
        await db.batch(operations);
      }
      await db.flush();
      let stats = await db.stats();
      const merges = () => stats.background?.merges ?? { queued: 0, running: 0 };
      // The first one may not be planned yet.
      while (merges().queued + merges().running > 0 || stats.mergeWrittenBytes === 0) {
        stats = await db.stats();
      }
      const { damage } = await db.check();
      await db.close();
      const again = await open(name, options);
      const entries: [string, string][] = [];
      for await (const entry of again.entries()) entries.push(entry);
      await again.close();
      const expected = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
      const same = JSON.stringify(entries) === JSON.stringify(expected);
      return { stats, damage, same, entries: entries.length, merged: stats.mergeWrittenBytes };
    },
    [threads, policy] as const,
  );
}

/** With what opens cross-origin isolated pages, and such pages whose stores start pools. */
const test = base.extend<Record<"openIsolated" | "openPooled", () => Promise<Page>>>({
  openIsolated: ({ context, origin }, use) => use(() => openStorePage(context, origin, ISOLATED)),
  openPooled: async ({ browserName, openIsolated }, use) => {
    // Firefox ESR 153 does so now and then.
    test.skip(browserName === "firefox", "Firefox may hang while it starts a pool");
    await use(openIsolated);
  },
});

for (const policy of policies) {
  test(`a store with threads has what a model and one without have: ${JSON.stringify(policy)}`, async ({
    openPooled,
  }) => {
    const page = await openPooled();
    const alone = await load(page, false, policy);
    const pooled = await load(page, 2, policy);
    expect(alone.stats.threads).toEqual({ count: 0, reason: "the option threads is false or 0" });
    expect(pooled.stats.threads).toEqual({ count: 2, reason: "the option threads is set" });
    expect(alone.stats.background).toBeUndefined();
    expectBackground(pooled.stats);
    for (const { same, damage, merged } of [alone, pooled]) {
      expect({ same, damage }).toEqual({ same: true, damage: [] });
      expect(merged).toBeGreaterThan(0);
    }
    expect(pooled.entries).toBe(alone.entries);
  });
}

/** Expects consistent statistics of a store with two threads. */
function expectBackground(stats: Stats) {
  const { background, flushedBytes, mergeReadBytes, mergeWrittenBytes } = stats;
  if (background === undefined) throw new Error("no background work is told");
  const { elapsedMicros, busyMicros, flushes, merges } = background;
  expect(busyMicros.length).toBe(3);
  const busy = busyMicros.reduce((sum, micros) => sum + micros, 0);
  expect(busy).toBe(flushes.busyMicros + merges.busyMicros);
  for (const micros of busyMicros) expect(micros).toBeLessThanOrEqual(elapsedMicros);
  expect(flushes).toMatchObject({
    queued: 0,
    running: 0,
    readBytes: 0,
    writtenBytes: flushedBytes,
  });
  expect(merges).toMatchObject({ readBytes: mergeReadBytes, writtenBytes: mergeWrittenBytes });
  for (const jobs of [flushes, merges]) {
    expect(jobs.ended).toBeGreaterThan(0);
    expect(jobs.bytesPerSecond).toBeGreaterThan(0);
  }
  expect(stats.waits.level0Slowdown).toBeDefined();
}

/** Returns a store's statistics of its threads. */
function threadsOf(page: Page, options: { threads?: number; wasm?: string } = {}) {
  return page.evaluate(async (options) => {
    const db = await window.terrane.open("asked", options);
    const { threads } = await db.stats();
    await db.close();
    return threads;
  }, options);
}

test("a page that is not isolated has a store without threads, which says why", async ({
  storePage,
}) => {
  const page = await storePage();
  const without = { count: 0, reason: "the page is not cross-origin isolated" };
  expect(await threadsOf(page)).toEqual(without);
  expect(await threadsOf(page, { threads: 3 })).toEqual(without);
});

test("a lone get reads text, and other bytes, from memory that threads share", async ({
  openPooled,
}) => {
  const page = await openPooled();
  const wrong = await page.evaluate(async () => {
    const db = await window.terrane.open("texts", { threads: 2 });
    const { threads } = await db.stats();
    const binary = { valueEncoding: "binary" } as const;
    const wrong: unknown[] = threads.count === 2 ? [] : [threads];
    // The memory grows for the last.
    const texts = ["", "plain", "\ufeffschl\u00fcssel", "\u{1f600}\0", "\u9375".repeat(300)];
    for (const text of [...texts, "\u9375".repeat(4 << 20)]) {
      const key = text.slice(0, 300);
      await db.put(key, text);
      if ((await db.get(key)) !== text) wrong.push(key);
      const broken = Uint8Array.of(...new TextEncoder().encode(key), 0xff);
      await db.put(key, broken, binary);
      const code = (await window.failure(() => db.get(key)))?.code;
      if (code !== "invalid-argument") wrong.push([key, code]);
      if (String(await db.get(key, binary)) !== String(broken)) wrong.push([key, "bytes"]);
    }
    await db.close();
    return wrong;
  });
  expect(wrong).toEqual([]);
});

test("an isolated page has as many threads as processors but one, or as it asks for", async ({
  openPooled,
}) => {
  const page = await openPooled();
  const processors = await page.evaluate(() => navigator.hardwareConcurrency);
  const { count, reason } = await threadsOf(page);
  expect(count).toBe(Math.min(processors - 1, 4));
  expect(reason).toContain(`${processors} processor`);
  expect((await threadsOf(page, { threads: 3 })).count).toBe(3);
  const named = await threadsOf(page, { wasm: "../terrane/dist/terrane_bg.wasm" });
  expect(named).toEqual({ count: 0, reason: "the option wasm is set" });
  const failure = await page.evaluate(() =>
    window.failure(() => window.terrane.open("asked", { threads: 9 })),
  );
  expect(failure?.code).toBe("invalid-argument");
});

test("in Firefox an isolated page has no threads unless it asks for them", async ({
  browserName,
  openIsolated,
}) => {
  test.skip(browserName !== "firefox", "other browsers start threads");
  const page = await openIsolated();
  const { count, reason } = await threadsOf(page);
  expect(count).toBe(0);
  expect(reason).toContain("Firefox");
});

test("where the build with threads cannot be loaded the store has none, and says why", async ({
  context,
  openIsolated,
}) => {
  const page = await openIsolated();
  await context.route("**/terrane_threads_bg.wasm", (route) => route.fulfill({ status: 404 }));
  const { count, reason } = await threadsOf(page, { threads: 2 });
  expect(count).toBe(0);
  expect(reason).toContain("404");
});

/** Expects that a page's stores have let go of workers and locks, and so of their files. */
async function expectNothingLeft(page: Page) {
  // A browser ends a worker some time after `terminate`.
  await expect.poll(() => page.workers().length).toBe(0);
  const locks = () => page.evaluate(() => navigator.locks.query());
  await expect.poll(locks).toEqual({ held: [], pending: [] });
}

/** Opens the same store again and again and closes it amid merges; returns the files that there are. */
async function openAndClose(page: Page, rounds: number, threads: number | false) {
  await page.evaluate(
    async ([rounds, threads]) => {
      const options = { threads, memtableBytes: 64 << 10, policy: "tiered" } as const;
      for (let round = 0; round < rounds; round++) {
        // Its files are open to one at a time: none that was closed before has kept them.
        const db = await window.terrane.open("again", options);
        for (let batch = 0; batch < 4; batch++) {
          const put = (n: number) => ({
            type: "put" as const,
            key: `${(round * 997 + batch * 25 + n * 7919) % 2500}`,
            value: `${round}`.padEnd(4000, "v"),
          });
          await db.batch(Array.from({ length: 25 }, (_, n) => put(n)));
        }
        const events = db.events();
        void events.next();
        await db.close();
      }
    },
    [rounds, threads] as const,
  );
  return filesOf(page);
}

/** The names of all files that the page's origin has. */
function filesOf(page: Page) {
  return page.evaluate(async () => {
    const names: string[] = [];
    const walk = async (folder: FileSystemDirectoryHandle, path: string) => {
      for await (const [name, entry] of folder.entries()) {
        if (entry.kind === "file") names.push(path + name);
        else await walk(entry as FileSystemDirectoryHandle, `${path}${name}/`);
      }
    };
    await walk(await navigator.storage.getDirectory(), "");
    return names.sort();
  });
}

/** Expects that a hundred lives of a store leave no worker, lock, file or, if it is reported, memory. */
async function expectNothingOfAHundred(
  page: Page,
  threads: number | false,
  heapBytes?: () => Promise<number>,
) {
  const files = await openAndClose(page, 20, threads);
  await expectNothingLeft(page);
  const before = await heapBytes?.();
  expect(await openAndClose(page, 100, threads)).toEqual(files);
  await expectNothingLeft(page);
  // A value that each store leaves behind is seen.
  if (before !== undefined) expect((await heapBytes?.())! - before).toBeLessThan(100 * 4000);
}

for (const threads of [2, false] as const) {
  test(`a hundred opens and closes leave nothing behind, threads: ${threads}`, async ({
    openPooled,
    protocol,
  }) => {
    test.setTimeout(patient(600_000));
    const page = await openPooled();
    const session = await protocol(page);
    await expectNothingOfAHundred(page, threads, async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize;
    });
  });
}

test("in Firefox a hundred opens and closes leave no worker, lock or file behind", async ({
  browserName,
  storePage,
}) => {
  test.skip(browserName !== "firefox", "there is a test for browsers that tell their memory, too");
  test.setTimeout(patient(600_000));
  await expectNothingOfAHundred(await storePage(), false);
});

test("a tab that is closed amid merges leaves a store that another opens, and nothing else", async ({
  openPooled,
}) => {
  /** The files after each time. */
  const files: string[][] = [];
  for (let round = 0; round < 3; round++) {
    const page = await openPooled();
    const acknowledged = await page.evaluate(async () => {
      const options = { threads: 2, memtableBytes: 64 << 10, policy: "tiered" } as const;
      const db = await window.terrane.open("killed", options);
      const value = "v".repeat(500);
      const put = (key: number) => ({ type: "put" as const, key: `${key}`, value });
      for (let batch = 0; batch < 40; batch++) {
        await db.batch(
          Array.from({ length: 50 }, (_, i) => put(batch * 50 + i)),
          { durability: "sync" },
        );
      }
      // More, which nobody waits for.
      for (let batch = 0; batch < 400; batch++) {
        void db.batch(Array.from({ length: 50 }, (_, i) => put((batch * 50 + i * 7919) % 20_000)));
      }
      return 40 * 50;
    });
    await page.close();
    const next = await openPooled();
    const [found, damage] = await next.evaluate(async () => {
      const db = await window.terrane.open("killed");
      let found = 0;
      for await (const key of db.keys()) found += Number(key) < 2000 ? 1 : 0;
      const { damage } = await db.check();
      await db.close();
      return [found, damage] as const;
    });
    // A table that no commit names would be damage.
    expect(damage).toEqual([]);
    expect(found).toBe(acknowledged);
    await expectNothingLeft(next);
    files.push(await filesOf(next));
    await next.close();
  }
  expect(files).toEqual([files[0], files[0], files[0]]);
});

test("a worker of the pool that dies is an error of the store, which can be opened again", async ({
  context,
  openPooled,
}) => {
  const page = await openPooled();
  // A worker of the pool that asks for the time dies.
  const script = readFileSync(
    new URL("../../bindings-js/dist/threads.js", import.meta.url),
    "utf8",
  );
  const broken = `
    const Started = self.Worker;
    self.Worker = function (url, options) {
      const script = \`import "\${url}"; performance.now = () => { throw "broken"; };\`;
      const blob = new Blob([script], { type: "text/javascript" });
      return new Started(URL.createObjectURL(blob), options);
    };`;
  await context.route("**/terrane/dist/threads.js", (route) =>
    route.fulfill({ body: broken + script, contentType: "text/javascript", headers: isolation }),
  );
  const failure = await page.evaluate(() =>
    window.failure(async () => {
      // A store that is shared would be opened again by the next call.
      const exclusive = true;
      const options = {
        exclusive,
        threads: 2,
        memtableBytes: 512 << 10,
        policy: "tiered",
      } as const;
      const db = await window.terrane.open("broken", options);
      // Events have times, also those that tell how far a merge is.
      void db.events().next();
      for (let n = 0; n < 20_000; n++) {
        await db.put(`${n % 5000}`, "v".repeat(200));
      }
      await db.flush();
    }),
  );
  expect(failure?.code).toBe("engine");
  await expectNothingLeft(page);
  await context.unroute("**/terrane/dist/threads.js");
  const again = await openPooled();
  const left = await again.evaluate(async () => {
    const db = await window.terrane.open("broken", { create: false, threads: 2 });
    const { damage } = await db.check();
    const { count } = (await db.stats()).threads;
    await db.close();
    return { damage, count };
  });
  expect(left).toEqual({ damage: [], count: 2 });
});
