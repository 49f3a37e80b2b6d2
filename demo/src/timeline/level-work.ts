/** Work of levels so far: bytes that flushes, merges and moves read of each and wrote into it. */

import type { LevelChange } from "terrane";

/** Work of a level since the start. */
export interface LevelWork {
  /** Bytes that merges read of its tables. */
  readBytes: number;
  /** Bytes that flushes and merges wrote into it, and those of them that came from elsewhere. */
  writtenBytes: number;
  broughtBytes: number;
  /** Bytes of tables that were moved into it, and not rewritten. */
  movedBytes: number;
  /** Time of merges into it, in microseconds; those of two at once add up. */
  micros: number;
}

const NONE: LevelWork = {
  readBytes: 0,
  writtenBytes: 0,
  broughtBytes: 0,
  movedBytes: 0,
  micros: 0,
};

/** Returns the work of levels with `more` added at one level. */
export function worked(
  all: readonly LevelWork[],
  level: number,
  more: Partial<LevelWork>,
): LevelWork[] {
  const next = [...all];
  while (next.length <= level) next.push(NONE);
  const before = next[level] ?? NONE;
  const sum = (name: keyof LevelWork) => before[name] + (more[name] ?? 0);
  next[level] = {
    readBytes: sum("readBytes"),
    writtenBytes: sum("writtenBytes"),
    broughtBytes: sum("broughtBytes"),
    movedBytes: sum("movedBytes"),
    micros: sum("micros"),
  };
  return next;
}

/** Returns the work of levels after one was added or dropped: it stays with the tables. */
export function shifted(all: readonly LevelWork[], change: LevelChange): LevelWork[] {
  if ("drop" in change) return all.toSpliced(change.drop, 1);
  return change.add < all.length ? all.toSpliced(change.add, 0, NONE) : [...all];
}

/** Returns bytes written into a level for each byte from elsewhere; undefined before the first. */
export function levelAmplification({ writtenBytes, broughtBytes }: LevelWork): number | undefined {
  return broughtBytes === 0 ? undefined : writtenBytes / broughtBytes;
}
