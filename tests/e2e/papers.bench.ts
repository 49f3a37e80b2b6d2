/**
 * Prints what stores on OPFS do under the designs of two papers, each number beside the simulator's:
 * `npm run papers`. Nothing is asserted. Seconds are those of the machine as it is; what is counted is not
 * touched by that.
 *
 * 1. PTierDB: table I's phases, and YCSB E after a load of its own. Memtable, levels and tables are a 256th of
 *    the paper's, and the load is 200,000 entries.
 * 2. BucketLSM: level 0 drained by threads, then fillrandom with what writes waited for. Threads need an
 *    isolated page, and are left out in Firefox, which may hang while it starts them.
 */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicyOptions } from "../../bindings-js/dist/client/index.js";
import { test as base, openStorePage, type Page } from "./fixtures.ts";
import { buildNative, terrane } from "./native.ts";
import { drain, fill, type Phase, ycsb } from "./papers.ts";
import { ISOLATED } from "./server.ts";

const test = base.extend<{ isolated: Page }>({
  isolated: async ({ context, origin }, use) => use(await openStorePage(context, origin, ISOLATED)),
});
test.setTimeout(60 * 60_000);
test.beforeAll(() => buildNative());

/** Rows of 16 + 100 bytes, whose values compress to half. */
const ROW = { "key-bytes": 16, "value-bytes": 100, "value-compression": 2 };

interface Simulated {
  write_amp: number | null;
  merge_written_bytes: number;
  compaction_seconds: number;
  gets: number;
  read_ios_per_get: number;
  read_ios_per_scan: number;
  by_level: { lookups: number }[];
  stall_seconds: Record<string, number>;
}

interface Report extends Simulated {
  phases: (Simulated & { name: string })[];
  levels: { bytes: number }[];
}

/** The same in the simulator. */
function simulate(config: object): Report {
  const file = join(mkdtempSync(join(tmpdir(), "terrane-papers-")), "config.json");
  const small = { "max-immutable-memtables": 2, "l0-stop-trigger": 16, "cache-bytes": 0, ...ROW };
  writeFileSync(file, JSON.stringify({ ...small, ...config }));
  return JSON.parse(terrane("simulate", "--config", file, "--json")) as Report;
}

/** A policy's options as the simulator spells them. */
function spelled(options: PolicyOptions): object {
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const spell = ([name, value]: [string, unknown]) => [kebab(name), value] as const;
  return Object.fromEntries(Object.entries(options).map(spell));
}

/** Puts in random order, over as many keys. */
const random = (operations: number) => ({
  load: 0,
  keys: operations,
  phases: [{ operations, clients: [{ mix: { update: 1 } }] }],
});

function print(...cells: string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

/** The store's number beside the simulator's. */
const pair = (store = NaN, simulated: number | null = NaN, digits = 2) =>
  [store, simulated ?? NaN].map((n) => (Number.isNaN(n) ? "-" : n.toFixed(digits))).join(" / ");

const bytesOf = (levels: readonly { bytes: number }[]) =>
  levels.reduce((sum, { bytes }) => sum + bytes, 0);

/** The paper's memtable of 32 MB is 128 KiB here, and so is everything else. */
const MEMTABLE = 128 << 10;
const UNBOUNDED = 2 ** 40;
const LEVELS = { sizeRatio: 10, l0CompactionTrigger: 4, dynamicLevelBytes: false };
const DESIGNS: Record<string, PolicyOptions> = {
  leveled: {
    policy: "leveled-full",
    ...LEVELS,
    levelBaseBytes: 4096,
    targetFileBytes: UNBOUNDED,
    preemptive: false,
  },
  tiered: {
    policy: "tiered",
    sizeRatio: 10,
    levelBaseBytes: 65536,
    targetFileBytes: UNBOUNDED,
  },
  "lazy-leveled": {
    policy: "lazy-leveled",
    ...LEVELS,
    levelBaseBytes: 4096,
    targetFileBytes: UNBOUNDED,
    leveledLevels: 1,
  },
  ptier: {
    policy: "ptier",
    sizeRatio: 10,
    levelBaseBytes: 40960,
    targetFileBytes: 262144,
    splitBytes: 16384,
    l0CompactionTrigger: 4,
    prefixLength: 2,
    readLimit: 32,
  },
};

const LOAD = 200_000;
const zipf = { by: "zipf", exponent: 0.99, "move-every": 0 } as const;
const latest = { by: "latest", exponent: 0.99 } as const;
type Clients = Phase["clients"][0];
const phase = (name: string, mix: Clients["mix"], choice: Clients["choice"] = zipf): Phase => ({
  name,
  operations: LOAD / 4,
  clients: [{ mix, choice, "scan-entries": 100 }],
});
const RUNS = [
  [
    phase("A", { read: 0.5, update: 0.5 }),
    phase("B", { read: 0.95, update: 0.05 }),
    phase("C", { read: 1 }),
    phase("F", { read: 0.5, "read-modify-write": 0.5 }),
    phase("D", { read: 0.95, insert: 0.05 }, latest),
  ],
  [phase("E", { scan: 0.95, insert: 0.05 })],
];

for (const [name, policy] of Object.entries(DESIGNS)) {
  test(`ptierdb, ${name}`, async ({ storePage }) => {
    print(name, "phase", "write amp", "filters a get", "blocks a get or scan", "seconds");
    for (const [run, phases] of RUNS.entries()) {
      const workload = { load: LOAD, prefixes: { count: 8, exponent: 0 }, phases };
      const options = { policy, memtableBytes: MEMTABLE, cacheBytes: 0 };
      const found = await ycsb(await storePage(), `${name}-${run}`, options, workload);
      const simulated = simulate({
        policy: spelled(policy),
        "buffer-bytes": MEMTABLE,
        workers: 1,
        workload,
      });
      for (const { phase, writeAmp, filters, blocks, seconds } of found.phases) {
        const same = simulated.phases.find(({ name }) => name === phase);
        const asked = same?.by_level.reduce((sum, { lookups }) => sum + lookups, 0) ?? 0;
        print(
          name,
          phase,
          pair(writeAmp, same?.write_amp),
          pair(filters, asked / (same?.gets || 1)),
          pair(blocks, same && same.read_ios_per_get + same.read_ios_per_scan),
          seconds.toFixed(1),
        );
      }
      const sizes = [found.bytes, bytesOf(simulated.levels)].map((bytes) => bytes / 1e6);
      print(name, "whole", pair(found.writeAmp, simulated.write_amp), `${pair(...sizes)} MB`);
    }
  });
}

/** Runs that level 0 is filled with, and the rows of each. */
const [LEVEL0, RUN_ROWS] = [8, 10_000];
const [PARTS, PATIENT] = [8, 64];
const leveled = (maxSubcompactions: number): PolicyOptions => ({
  policy: "leveled",
  maxSubcompactions,
  targetFileBytes: 65536,
  dynamicLevelBytes: false,
});
const WAYS: Record<string, PolicyOptions> = {
  "one task": leveled(1),
  subcompaction: leveled(PARTS),
  bucket: {
    policy: "bucket",
    buckets: PARTS,
    followWorkers: false,
    targetFileBytes: 65536,
    dynamicLevelBytes: false,
  },
};

for (const [name, policy] of Object.entries(WAYS)) {
  test(`bucketlsm, ${name}`, async ({ isolated, browserName }) => {
    print(name, "threads", "level 0 drained: seconds", "MB written", "tables");
    const threads = browserName === "firefox" ? [0] : [0, 1, 2];
    for (const count of threads) {
      const filling = { ...policy, l0CompactionTrigger: PATIENT };
      const rows = [LEVEL0, RUN_ROWS] as const;
      const found = await drain(isolated, `${name}-${count}`, count, [filling, policy], rows);
      const simulated = simulate({
        policy: { ...spelled(policy), "l0-compaction-trigger": LEVEL0 },
        "buffer-bytes": RUN_ROWS * 116,
        workers: Math.max(count, 1),
        workload: random(LEVEL0 * RUN_ROWS),
      });
      const written = [found.written, simulated.merge_written_bytes].map((bytes) => bytes / 1e6);
      const seconds = pair(found.seconds, simulated.compaction_seconds, 3);
      print(name, `${count}`, seconds, pair(...written), found.tables);
    }
    print(name, "threads", "fillrandom: write amp", "waits for memtables", "for level 0");
    for (const count of threads) {
      const found = await fill(isolated, `fill-${name}-${count}`, count, policy, LOAD);
      const simulated = simulate({
        policy: spelled(policy),
        "buffer-bytes": MEMTABLE,
        workers: Math.max(count, 1),
        workload: random(LOAD),
      });
      const { memtables, level0 } = simulated.stall_seconds;
      const waits = (of: { count: number; micros: number }, simulated?: number) =>
        `${of.count}, ${pair(of.micros / 1e6, simulated)} s`;
      print(
        name,
        `${count}`,
        pair(found.writeAmp, simulated.write_amp),
        waits(found.memtables, memtables),
        waits(found.level0, level0),
      );
    }
  });
}
