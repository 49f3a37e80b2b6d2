/** Cost of a tree by its content: in writes, in space, in reads. */

import type { Table } from "terrane";
import { compareKeys } from "./key-order.ts";
import { search } from "./search.ts";
import { type PlacedLevel, type State, storeBytes, writeAmplification } from "./state.ts";

/** The three amplifications. */
export interface Amplification {
  /** Bytes written to tables for each byte accepted. */
  write: number;
  /** Bytes on disk divided by those that are live. 1 while there is no table. */
  space: number;
  /** Whether `space` is an upper bound, since the live bytes are unknown. */
  spaceIsBound: boolean;
  /** Runs that have a table over a key, on average. A get without filters reads them until one has its key. */
  read: number;
}

/** The amplifications of a moment. */
export function amplificationOf(state: State): Amplification {
  const { liveBytes } = state;
  const live = liveBytes ?? leastLive(state);
  const stored = storeBytes(state);
  return {
    write: writeAmplification(state),
    space: live === 0 || stored === 0 ? 1 : stored / live,
    spaceIsBound: liveBytes === null,
    read: depthOf(state),
  };
}

/**
 * Returns a lower bound of the live bytes. A run has no key twice, so all of its keys are live, in this version or in a
 * newer one, except at most as many as it and newer runs have tombstones. Entries are assumed to be equally large.
 */
function leastLive({ levels }: State): number {
  let [tombstones, most] = [0, 0];
  for (const { runs } of levels) {
    for (const { tables } of runs) {
      let [entries, bytes] = [0, 0];
      for (const table of tables) {
        entries += table.entries;
        bytes += table.bytes;
        tombstones += table.tombstones;
      }
      if (entries > tombstones) most = Math.max(most, (bytes * (entries - tombstones)) / entries);
    }
  }
  return most;
}

/** Keys at which the runs are counted. */
const PROBES = 32;

/** The depths of trees, which most events do not change. */
const depths = new WeakMap<readonly PlacedLevel[], number>();

/** Returns the number of runs with a table over a key, on average over keys that tables start with. */
function depthOf({ levels }: State): number {
  let depth = depths.get(levels);
  if (depth === undefined) {
    const runs = levels.flatMap((level) => level.runs.map(({ tables }) => tables));
    const tables = runs.flat();
    const step = Math.max(tables.length / PROBES, 1);
    const probes = Array.from({ length: Math.min(tables.length, PROBES) }, (_, i) => {
      return tables[Math.floor(i * step)]?.smallest ?? new Uint8Array();
    });
    const covering = (key: Uint8Array) => runs.filter((tables) => covers(tables, key)).length;
    const sum = probes.reduce((sum, key) => sum + covering(key), 0);
    depth = sum / Math.max(probes.length, 1);
    depths.set(levels, depth);
  }
  return depth;
}

/** Whether a run has a table over a key. */
function covers(tables: readonly Table[], key: Uint8Array): boolean {
  const at = search(tables.length, (i) => compareKeys(tables[i]?.smallest ?? key, key) <= 0) - 1;
  const table = tables[at];
  return table !== undefined && compareKeys(table.largest, key) >= 0;
}

/** The shares of three corners of a triangle: the more of a cost, the nearer to its corner. */
export function sharesOf({ write, space, read }: Amplification): [number, number, number] {
  const [w, s, r] = [write, space, read].map((cost) => Math.log2(1 + cost)) as [
    number,
    number,
    number,
  ];
  const sum = w + s + r || 1;
  return [w / sum, s / sum, r / sum];
}

/** The filters of a level. */
export interface Filters {
  level: number;
  /** Bits a key, on average. */
  bits: number;
  /** Share of absent keys that a Bloom filter of these bits passes. */
  wrong: number;
}

/** The filters of levels, which most events leave as they are. */
const filtersOfLevel = new WeakMap<PlacedLevel, Omit<Filters, "level"> | null>();

/** The filters of each level that has tables. */
export function filtersOf({ levels }: State): Filters[] {
  return levels.flatMap((placed, level): Filters[] => {
    let found = filtersOfLevel.get(placed);
    if (found === undefined) filtersOfLevel.set(placed, (found = filtersIn(placed)));
    return found === null ? [] : [{ level, ...found }];
  });
}

/** The filters of a level; null if it has no tables. */
function filtersIn({ runs }: PlacedLevel): Omit<Filters, "level"> | null {
  let [entries, all] = [0, 0];
  for (const table of runs.flatMap(({ tables }) => tables)) {
    entries += table.entries;
    all += table.filterBits * table.entries;
  }
  if (entries === 0) return null;
  const bits = all / entries;
  return { bits, wrong: Math.exp(-bits * Math.LN2 ** 2) };
}
