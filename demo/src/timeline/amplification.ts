/** Cost of a tree by its content: in writes, in space, in reads. */

import {
  bytesOf,
  type PlacedLevel,
  runCount,
  type State,
  storeBytes,
  writeAmplification,
} from "./state.ts";

/** The three amplifications. */
export interface Amplification {
  /** Bytes written to tables for each byte accepted. */
  write: number;
  /**
   * Bytes on disk divided by those of the largest run, which has about one version of each key: what the tree
   * itself knows of how much is alive. 1 while there is no table.
   */
  space: number;
  /** Runs that a scan looks into, and a get where filters do not help. */
  read: number;
}

/** The amplifications of a moment. */
export function amplificationOf(state: State): Amplification {
  const largest = largestRun(state);
  return {
    write: writeAmplification(state),
    space: largest === 0 ? 1 : storeBytes(state) / largest,
    read: runCount(state),
  };
}

/** Sizes of the largest runs of levels, which most events leave as they are. */
const largestOf = new WeakMap<PlacedLevel, number>();

/** The bytes of the largest run. */
function largestRun({ levels }: State): number {
  let most = 0;
  for (const level of levels) {
    let largest = largestOf.get(level);
    if (largest === undefined) {
      largest = Math.max(...level.runs.map(({ tables }) => bytesOf(tables)), 0);
      largestOf.set(level, largest);
    }
    most = Math.max(most, largest);
  }
  return most;
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
