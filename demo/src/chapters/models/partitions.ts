/**
 * How two runs are cut into tables, and which tables a compaction has to take together: those whose
 * key ranges overlap, and those that overlap with them in turn.
 */

/** A table: its keys, in order, and the run that it is of. */
export interface KeyTable {
  run: string;
  keys: readonly number[];
}

/** Way in which a run is cut. */
export type Cutting = "size" | "global-range";

/** Cuts a run into tables of at most `most` keys; `space` is the key space, first and last key. */
export function cut(
  run: string,
  keys: readonly number[],
  by: Cutting,
  most: number,
  space: readonly [number, number],
): KeyTable[] {
  const tables: KeyTable[] = [];
  if (by === "size") {
    for (let at = 0; at < keys.length; at += most) {
      tables.push({ run, keys: keys.slice(at, at + most) });
    }
    return tables;
  }
  // The key space is halved until no half has more keys: the same cuts for every run.
  const halve = (from: number, to: number) => {
    const inside = keys.filter((key) => key >= from && key <= to);
    if (inside.length === 0) return;
    if (inside.length <= most || from === to) tables.push({ run, keys: inside });
    else {
      const middle = Math.floor((from + to) / 2);
      halve(from, middle);
      halve(middle + 1, to);
    }
  };
  halve(...space);
  return tables;
}

/** A cut between two keys, and the halving that made it: the first cuts the whole key space. */
export interface Halving {
  at: number;
  depth: number;
}

/** Returns the cuts that halve the key space for these runs, in key order. */
export function halvings(
  runs: readonly (readonly number[])[],
  most: number,
  space: readonly [number, number],
): Halving[] {
  const halve = (from: number, to: number, depth: number): Halving[] => {
    const inside = (keys: readonly number[]) =>
      keys.filter((key) => key >= from && key <= to).length;
    if (from === to || runs.every((keys) => inside(keys) <= most)) return [];
    const middle = Math.floor((from + to) / 2);
    return [
      ...halve(from, middle, depth + 1),
      { at: middle + 0.5, depth },
      ...halve(middle + 1, to, depth + 1),
    ];
  };
  return halve(...space, 1);
}

/** The groups of a compaction, in key order: a group of one table is moved, others are merged. */
export function groupsOf(tables: readonly KeyTable[]): KeyTable[][] {
  const first = ({ keys }: KeyTable) => keys[0] ?? 0;
  const last = ({ keys }: KeyTable) => keys.at(-1) ?? 0;
  const groups: KeyTable[][] = [];
  let end = -Infinity;
  for (const table of [...tables].sort((a, b) => first(a) - first(b))) {
    if (first(table) > end) groups.push([table]);
    else groups.at(-1)?.push(table);
    end = Math.max(end, last(table));
  }
  return groups;
}
