/**
 * Loads that are cut short, again and again: the worker is terminated, the page reloaded, the tab
 * closed, or the browser killed. Whatever was acknowledged with a sync is there, batches are whole,
 * and what is there is a prefix of what was written.
 */

import { execFileSync } from "node:child_process";
import { expect, full, openStorePage, type Page, test } from "./fixtures.ts";

const rounds = full ? 120 : 9;
const killings = full ? 20 : 2;
const BATCH = 20;
/** The most batches of one load: on a busy machine it would go on for long, and every survey reads all. */
const LOAD = 400;

const small = { runTrigger: 2, targetFileBytes: 8 << 10 };
const halves = { ...small, flushFloorBytes: 4 << 10 };
const ofLevel0 = { l0CompactionTrigger: 2, levelBaseBytes: 16 << 10, targetFileBytes: 8 << 10 };
/**
 * Each load has another policy than the one before: the default, one for each partitioner, and those that
 * split level 0 between prefixes and into buckets.
 */
const policies = [
  { policy: "leveled" },
  { policy: "universal", partitioner: "none", ...small },
  { policy: "universal", partitioner: "size", subcompactions: 1, ...small },
  { policy: "universal", partitioner: "local-range", partitionJoinPercent: 50, ...halves },
  { policy: "universal", partitioner: "local-range-by-group", subcompactions: 2, ...halves },
  { policy: "universal", partitioner: "global-range", ...halves },
  { policy: "universal", partitioner: "global-range", domainLeast: "3030", ...halves },
  { policy: "ptier", prefixLength: 7, splitBytes: 2 << 10, readLimit: 100, ...ofLevel0 },
  { policy: "bucket", ...ofLevel0 },
] as const;

/** Opens the store, reads everything, and says what it found. */
async function survey(page: Page) {
  return page.evaluate(async (size) => {
    const db = await window.terrane.open("crash");
    const entries = new Map<number, number>();
    for await (const [key, value] of db.entries()) {
      const [batch = "", index] = key.split("/");
      if (value !== `${batch}-${index}`.repeat(20)) throw new Error(`${key} has ${value}`);
      entries.set(Number(batch), (entries.get(Number(batch)) ?? 0) + 1);
    }
    const torn = [...entries].filter(([, count]) => count !== size);
    const batches = [...entries.keys()].sort((a, b) => a - b);
    const { damage } = await db.check();
    await db.close();
    return { batches, torn, damage };
  }, BATCH);
}

/** Expects a prefix of whole batches, not shorter than it was; returns how many there are. */
function intact(found: Awaited<ReturnType<typeof survey>>, synced: number, before: number): number {
  const { batches, torn, damage } = found;
  expect(damage).toEqual([]);
  expect(torn).toEqual([]);
  expect(batches).toEqual(Array.from({ length: batches.length }, (_, i) => i));
  expect(batches.length).toBeGreaterThan(synced);
  expect(batches.length).toBeGreaterThanOrEqual(before);
  return batches.length;
}

/** Starts to load batches from `next` on, and reports each that was acknowledged with a sync. */
async function startLoad(page: Page, next: number, round: number): Promise<void> {
  await page.evaluate(
    async ([next, most, size, policy]) => {
      let worker: Worker | undefined;
      const db = await window.terrane.open("crash", {
        // A store that is shared would be opened again by the next call, with its former policies.
        exclusive: true,
        memtableBytes: 64 << 10,
        policy,
        worker: () => {
          worker = new Worker("/terrane/dist/worker.js", { type: "module" });
          return worker;
        },
      });
      Object.assign(window, { stop: () => worker?.terminate() });
      const load = async () => {
        for (let batch = next; batch < next + most; batch++) {
          const durability = batch % 3 === 0 ? "sync" : "buffered";
          const name = `${batch}`.padStart(8, "0");
          const operations = Array.from({ length: size }, (_, i) => ({
            type: "put" as const,
            key: `${name}/${i}`,
            value: `${name}-${i}`.repeat(20),
          }));
          await db.batch(operations, { durability });
          if (durability === "sync") {
            (window as unknown as { synced(n: number): void }).synced(batch);
          }
        }
        // A call is under way whenever the load is cut short.
        for (;;) await db.get("none");
      };
      void load().catch((error) => Object.assign(window, { ended: error.code }));
    },
    [next, LOAD, BATCH, policies[round % policies.length] ?? policies[0]] as const,
  );
}

test("interrupted loads leave a prefix of whole batches", async ({ context, storePage }) => {
  let synced = -1;
  await context.exposeFunction("synced", (batch: number) => {
    synced = Math.max(synced, batch);
  });
  let page = await storePage();
  let next = 0;
  for (let round = 0; round < rounds; round++) {
    const before = synced;
    await startLoad(page, next, round);
    await page.waitForTimeout(50 + ((round * 137) % 400));
    // A machine that is busy besides may have acknowledged nothing by then.
    await expect.poll(() => synced).toBeGreaterThan(before + 1);
    if (round % 3 === 0) {
      await page.evaluate(() => (window as unknown as { stop(): void }).stop());
      // The client notices, and every call that waited fails.
      await page.waitForFunction(() => "ended" in window);
      expect(await page.evaluate(() => (window as unknown as { ended: string }).ended)).toBe(
        "engine",
      );
    } else if (round % 3 === 1) {
      await page.reload();
    } else {
      await page.close();
      page = await storePage();
    }
    await page.waitForFunction(() => "terrane" in window);
    next = intact(await survey(page), synced, next);
  }
  expect(synced).toBeGreaterThan(rounds);
});

/** Kills the browser that this process started on the profile, without a word. */
function killBrowser(profile: string): void {
  const processes = execFileSync("ps", ["-A", "-o", "ppid=,pid=,args="], { encoding: "utf8" });
  const own = new RegExp(`^ *${process.pid} +(\\d+) .*${profile}`, "m");
  process.kill(Number(own.exec(processes)?.[1]), "SIGKILL");
}

test("a killed browser leaves whole batches, all synced ones", async ({
  launch,
  profile,
  origin,
}) => {
  let synced = -1;
  let next = 0;
  for (let round = 0; round < killings; round++) {
    const context = await launch();
    await context.exposeFunction("synced", (batch: number) => {
      synced = Math.max(synced, batch);
    });
    const page = await openStorePage(context, origin);
    if (round > 0) next = intact(await survey(page), synced, next);
    const before = synced;
    await startLoad(page, next, round);
    await page.waitForTimeout(500 + 100 * round);
    await expect.poll(() => synced).toBeGreaterThan(before + 1);
    const closed = context.waitForEvent("close");
    killBrowser(profile);
    await closed;
  }
  const context = await launch();
  intact(await survey(await openStorePage(context, origin)), synced, next);
  await context.close();
  expect(synced).toBeGreaterThan(killings);
});
