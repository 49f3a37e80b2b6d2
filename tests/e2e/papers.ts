/** Work of papers.bench.ts on the stores of pages. */

import type { PolicyOptions } from "../../bindings-js/dist/client/index.js";
import type { Page } from "./fixtures.ts";

/** Operations of several kinds, by their shares, as the simulator has them. */
export interface Phase {
  name: string;
  operations: number;
  clients: [
    {
      mix: Partial<Record<"read" | "update" | "insert" | "scan" | "read-modify-write", number>>;
      choice: { by: "zipf" | "latest"; exponent: number };
      "scan-entries": number;
    },
  ];
}

/** A load and what follows it. */
export interface Workload {
  load: number;
  phases: readonly Phase[];
}

interface Options {
  policy: PolicyOptions;
  memtableBytes: number;
  cacheBytes: number;
}

/** Adds what the functions below share to a page. */
async function prepare(page: Page): Promise<void> {
  await page.evaluate(() => {
    let state = 1;
    const random = () => {
      state = (state + 0x9e3779b9) | 0;
      let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
    };
    const pool = Array.from({ length: 1 << 16 }, () =>
      String.fromCharCode(32 + Math.floor(random() * 95)),
    ).join("");
    // One of eight prefixes of two bytes, then a hash of the number and the number.
    const key = (number: number) => {
      const hash = Math.imul(number + 1, 0x9e3779b1) >>> 0;
      const hex = (part: number, digits: number) => part.toString(16).padStart(digits, "0");
      return `0${number % 8}${hex(hash, 8)}${hex(number, 6)}`;
    };
    const value = () => {
      const at = Math.floor(random() * (pool.length - 50));
      return pool.slice(at, at + 50).repeat(2);
    };
    const put = (number: number) => ({ type: "put", key: key(number), value: value() }) as const;
    /** Waits until a second has passed without an event: a merge has up to 32 of its progress. */
    const settle = async (db: Window["db"]) => {
      let last = performance.now();
      void (async () => {
        for await (const event of db.events()) [, last] = [event, performance.now()];
      })();
      await db.flush();
      while (performance.now() - last < 1000) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    window.rows = { random, key, value, put, settle };
  });
}

/** A load, then phases of operations, 64 of them under way at a time. */
export async function ycsb(page: Page, name: string, options: Options, workload: Workload) {
  await prepare(page);
  return page.evaluate(
    async ([name, options, { load, phases }]) => {
      const { random, key, value, put, settle } = window.rows;
      const db = await window.terrane.open(name, { ...options, threads: false });
      let keys = load;
      // The sums of the shares by Zipf's law, of all keys that there will be.
      const most = phases.reduce((sum, { operations }) => sum + operations, load);
      const sums = new Float64Array(most + 1);
      const exponent = phases[0]?.clients[0].choice.exponent ?? 1;
      for (let rank = 1; rank <= most; rank++) sums[rank] = sums[rank - 1]! + rank ** -exponent;
      const rank = () => {
        const drawn = random() * sums[keys]!;
        let [low, high] = [0, keys - 1];
        while (low < high) {
          const middle = (low + high) >> 1;
          if (sums[middle + 1]! > drawn) high = middle;
          else low = middle + 1;
        }
        return low;
      };
      const written = (stats: { flushedBytes: number; mergeWrittenBytes: number }) =>
        stats.flushedBytes + stats.mergeWrittenBytes;
      let [stats, writes] = [await db.stats(), 0];
      const [first, began] = [stats, performance.now()];
      const found: {
        phase: string;
        writeAmp: number | undefined;
        filters: number;
        blocks: number;
        seconds: number;
      }[] = [];
      let [last, all] = [began, 0];
      const end = async (phase: string, reads: number) => {
        const now = await db.stats();
        const asked = ({ keyspaces }: typeof now) =>
          keyspaces[0]!.levels.reduce((sum, { filterLookups }) => sum + filterLookups, 0);
        const blocks = ({ gets, scans }: typeof now) => gets.blocks + scans.blocks;
        found.push({
          phase,
          writeAmp: writes > 0 ? (written(now) - written(stats)) / (116 * writes) : undefined,
          filters: (asked(now) - asked(stats)) / Math.max(reads, 1),
          blocks: (blocks(now) - blocks(stats)) / Math.max(reads, 1),
          seconds: (performance.now() - last) / 1000,
        });
        all += writes;
        [stats, writes, last] = [now, 0, performance.now()];
      };
      // In an order of their own, so that it is not that of popularity.
      for (let from = 0; from < load; from += 1000) {
        const number = (at: number) => ((from + at) * 7919) % load;
        await db.batch(Array.from({ length: 1000 }, (_, at) => put(number(at))));
        writes += 1000;
      }
      await end("load", 0);
      for (const { name, operations, clients } of phases) {
        const [{ mix, choice, "scan-entries": most }] = clients;
        const numbers = () => (choice.by === "latest" ? keys - 1 - rank() : rank());
        let reads = 0;
        const operate = async () => {
          let drawn = random();
          const kind = Object.entries(mix).find(([, share]) => (drawn -= share) < 0)?.[0];
          const number = kind === "insert" ? keys++ : numbers();
          if (kind === "scan") {
            reads++;
            const limit = 1 + Math.floor(random() * most);
            for await (const entry of db.entries({ gte: key(number), limit })) void entry;
            return;
          }
          if (kind === "read" || kind === "read-modify-write") {
            reads++;
            await db.get(key(number));
          }
          if (kind === "read") return;
          writes++;
          await db.put(key(number), value());
        };
        for (let done = 0; done < operations; done += 64) {
          await Promise.all(Array.from({ length: Math.min(64, operations - done) }, operate));
        }
        await end(name, reads);
      }
      await settle(db);
      stats = await db.stats();
      const bytes = stats.keyspaces[0]!.levels.reduce((sum, level) => sum + level.bytes, 0);
      await db.close();
      return { phases: found, writeAmp: (written(stats) - written(first)) / (116 * all), bytes };
    },
    [name, options, workload] as const,
  );
}

/** Fills level 0 with `runs` runs under the first policy, and drains it under the second. */
export async function drain(
  page: Page,
  name: string,
  threads: number,
  policies: readonly [PolicyOptions, PolicyOptions],
  rows: readonly [runs: number, rows: number],
) {
  await prepare(page);
  return page.evaluate(
    async ([name, threads, [filling, draining], [runs, rows]]) => {
      const { random, put, settle } = window.rows;
      const db = await window.terrane.open(name, {
        policy: filling,
        threads: threads || false,
        memtableBytes: 16 << 20,
        cacheBytes: 0,
      });
      const number = () => Math.floor(random() * runs * rows);
      for (let run = 0; run < runs; run++) {
        await db.batch(Array.from({ length: rows }, () => put(number())));
        await db.flush();
      }
      await settle(db);
      const before = await db.stats();
      const { tables } = before.keyspaces[0]!.levels[0]!;
      const began = performance.now();
      let ended = began;
      void (async () => {
        for await (const { type } of db.events()) {
          if (type === "compaction-ended") ended = performance.now();
        }
      })();
      await db.setPolicy(draining);
      await settle(db);
      const { mergeWrittenBytes } = await db.stats();
      await db.close();
      const written = mergeWrittenBytes - before.mergeWrittenBytes;
      return { seconds: (ended - began) / 1000, written, tables: `${tables}` };
    },
    [name, threads, policies, rows] as const,
  );
}

/** Writes rows in random order, each a write of its own. */
export async function fill(
  page: Page,
  name: string,
  threads: number,
  policy: PolicyOptions,
  rows: number,
) {
  await prepare(page);
  return page.evaluate(
    async ([name, threads, policy, rows]) => {
      const { random, key, value, settle } = window.rows;
      const options = { policy, threads: threads || false, cacheBytes: 0 } as const;
      const db = await window.terrane.open(name, { ...options, memtableBytes: 128 << 10 });
      const write = () => db.put(key(Math.floor(random() * rows)), value());
      for (let done = 0; done < rows; done += 64) {
        await Promise.all(Array.from({ length: Math.min(64, rows - done) }, write));
      }
      await settle(db);
      const { flushedBytes, mergeWrittenBytes, waits } = await db.stats();
      await db.close();
      const { memtables, level0 } = waits;
      return { writeAmp: (flushedBytes + mergeWrittenBytes) / (116 * rows), memtables, level0 };
    },
    [name, threads, policy, rows] as const,
  );
}
