/**
 * A tombstone on its way down. A merge drops the older versions that it meets, and the tombstone itself where no
 * older version can lie below, unless a snapshot reads them.
 */

/** A key in a tree. */
export interface Deleted {
  /** Level of the tombstone; undefined once it is dropped. */
  tombstone: number | undefined;
  /** Whether a level has an older version, by level. */
  older: readonly boolean[];
  /** Whether a snapshot is open that is older than the delete. */
  snapshot: boolean;
}

/** Whether the tombstone may be dropped at its level. */
export function mayGo({ tombstone, older, snapshot }: Deleted): boolean {
  if (tombstone === undefined || tombstone === 0 || snapshot) return false;
  return !older.some((has, level) => has && level >= tombstone);
}

/** Returns the tree once the tombstone's level is merged into the next. */
export function mergedDown(before: Deleted): Deleted {
  const { tombstone, older, snapshot } = before;
  if (tombstone === undefined || tombstone + 1 >= older.length) return before;
  const level = tombstone + 1;
  // What a snapshot reads comes along.
  const along = snapshot && (older[tombstone] === true || older[level] === true);
  const left = older.with(tombstone, false).with(level, along);
  const after = { tombstone: level, older: left, snapshot };
  return mayGo(after) ? { ...after, tombstone: undefined } : after;
}

/** The level of the version that a get finds; undefined where it finds nothing, or the tombstone. */
export function foundAt({ tombstone, older }: Deleted): number | undefined {
  const level = older.indexOf(true);
  return level < 0 || (tombstone !== undefined && tombstone <= level) ? undefined : level;
}
