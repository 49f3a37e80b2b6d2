/**
 * The same merge in three ways: 16 MiB of updates of keys that are all there into 64 MiB. Inputs are on
 * disk until the outputs of their group are whole.
 */

/** Size of the level above, and of the largest level, in MiB. */
export const UPPER = 16;
export const LARGEST = 64;

/** A group of a merge, in MiB. */
export interface MergeGroup {
  /** Bytes read of the level above. */
  upper: number;
  /** Start of the bytes read of the largest level; the same number is written. */
  from: number;
  bytes: number;
}

/** A way to merge. */
export type Way = "full" | "partial" | "spooky";

/**
 * The groups of a merge. Partial merges take a table of 2 MiB and the tables of 2 MiB that it overlaps;
 * its ends lie inside of two of these, which its neighbours rewrite once more. Spooky cuts both levels at
 * the same four places.
 */
export function groupsOf(way: Way, spookyGroups: number = 4): MergeGroup[] {
  if (way === "full") return [{ upper: UPPER, from: 0, bytes: LARGEST }];
  if (way === "spooky") {
    const bytes = LARGEST / spookyGroups;
    const upper = UPPER / spookyGroups;
    return Array.from({ length: spookyGroups }, (_, i) => ({ upper, from: i * bytes, bytes }));
  }
  return Array.from({ length: 8 }, (_, i) => {
    const from = i * 8;
    return { upper: 2, from, bytes: Math.min(10, LARGEST - from) };
  });
}

/** A merge at a moment. */
export interface Moment {
  /** The group at work, and what it has written of its bytes. */
  group: number;
  written: number;
  /** Space on disk, in MiB. */
  used: number;
}

/** Returns the writes of a merge, in MiB. */
export function total(groups: readonly MergeGroup[]): number {
  return groups.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns the merge once `written` MiB were written. After the last of them, its outputs alone are left. */
export function momentOf(groups: readonly MergeGroup[], written: number): Moment {
  const all = total(groups);
  if (written > all) {
    const group = groups.length - 1;
    return { group, written: groups[group]?.bytes ?? 0, used: LARGEST };
  }
  let [before, used] = [0, UPPER + LARGEST];
  for (const [i, group] of groups.entries()) {
    // A group that is whole frees its inputs when the next one starts.
    if (written <= before + group.bytes || i === groups.length - 1) {
      const part = Math.min(written - before, group.bytes);
      return { group: i, written: part, used: used + part };
    }
    before += group.bytes;
    used -= group.upper;
  }
  return { group: 0, written: 0, used };
}

/** The most that is on disk at once, in units of the live data. */
export function peak(groups: readonly MergeGroup[]): number {
  let [used, most] = [UPPER + LARGEST, 0];
  for (const { upper, bytes } of groups) {
    most = Math.max(most, used + bytes);
    used -= upper;
  }
  return most / LARGEST;
}
