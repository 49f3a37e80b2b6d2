/**
 * Checks that what several tabs saw of a store is what one store would have shown them, on which each call takes effect
 * at one moment between its start and its end: that the history of each key is linearizable.
 *
 * 1. Each value is written once, so that a read says which write it saw. A write and the reads of its value are a
 *    cluster. So is the key's absence before all writes.
 * 2. A swap, a conditional write that took effect, reads the value that it expects, and writes another.
 * 3. Of two clusters, one is before the other: all of its calls take effect first. So no call of the second may end
 *    before a call of the first starts. Where each of two clusters has a call that ends before one of the other starts,
 *    there is no order. (For calls that read or write, and unique values, that is exact.)
 * 4. No two swaps replaced the same value.
 */

/** A call and what it did, with the times when it started and ended. */
export interface Call {
  kind: "read" | "write" | "swap";
  key: string;
  /** The value read or written; null for a key without one. */
  value: string | null;
  /** The value that a swap expected. */
  expected?: string | null;
  start: number;
  /** Null if it failed: a write may have taken effect, or may yet. */
  end: number | null;
}

/** A value's calls: the first end, and the last start. */
interface Cluster {
  value: string | null;
  end: number;
  start: number;
}

/** Returns what no store could have shown. Clocks of tabs may differ by `slack` milliseconds. */
export function impossible(calls: readonly Call[], slack: number): string[] {
  const keys = new Set(calls.map(({ key }) => key));
  return [...keys].flatMap((key) => {
    const own = calls.filter((call) => call.key === key);
    return [...unordered(own, slack), ...replacedTwice(own)].map((why) => `${key}: ${why}`);
  });
}

function unordered(calls: readonly Call[], slack: number): string[] {
  const clusters = new Map<string | null, Cluster>([[null, { value: null, end: -1, start: -1 }]]);
  const add = (value: string | null, start: number, end: number) => {
    const cluster = clusters.get(value) ?? { value, end: Infinity, start: -Infinity };
    cluster.end = Math.min(cluster.end, end + slack);
    cluster.start = Math.max(cluster.start, start);
    clusters.set(value, cluster);
  };
  for (const { kind, value, expected, start, end } of calls) {
    // One that failed says nothing unless it is a write that somebody saw.
    if (kind === "read" && end === null) continue;
    add(value, start, end ?? Infinity);
    if (kind === "swap" && end !== null) add(expected ?? null, start, end);
  }
  const all = [...clusters.values()].sort((one, other) => one.end - other.end);
  const found: string[] = [];
  let latest = -Infinity;
  for (const [at, one] of all.entries()) {
    // Else no earlier cluster has a call that starts after this one's first end.
    if (latest > one.end) {
      for (const other of all.slice(0, at)) {
        if (one.end >= other.start || other.end >= one.start) continue;
        found.push(`no order of ${JSON.stringify(other)} and ${JSON.stringify(one)}`);
      }
    }
    latest = Math.max(latest, one.start);
  }
  return found;
}

function replacedTwice(calls: readonly Call[]): string[] {
  const seen = new Set<string | null>();
  const swaps = calls.filter(({ kind, end }) => kind === "swap" && end !== null);
  return swaps.flatMap(({ expected = null }) => {
    if (seen.has(expected)) return [`replaced twice: ${expected}`];
    seen.add(expected);
    return [];
  });
}
