/**
 * Level 0 in seconds: while writes arrive, each interval adds a run, unless level 0 is full. One merge at a time takes
 * all runs that are there when it starts, and takes as long for each.
 */

/** Pace of writes and of merges, in seconds for each run, and the runs at which writes wait. */
export interface Paces {
  every: number;
  takes: number;
  limit: number;
}

/** A second of level 0. */
export interface Second {
  runs: number;
  waits: boolean;
}

/** Returns the seconds of level 0 while `busy` seconds of writes arrive, and until it is empty. */
export function level0Over(busy: number, { every, takes, limit }: Paces): Second[] {
  const seconds: Second[] = [];
  let [runs, taken, left, written, gone] = [0, 0, 0, 0, 0];
  // A second of writes that wait is written later.
  while (gone < busy || runs > 0) {
    if (left === 0 && runs > 0) [taken, left] = [runs, runs * takes];
    const waits = gone < busy && runs >= limit;
    if (gone < busy && !waits) {
      gone += 1;
      written += 1;
    }
    if (written === every) [runs, written] = [runs + 1, 0];
    seconds.push({ runs, waits });
    if (left > 0) left -= 1;
    if (left === 0) [runs, taken] = [runs - taken, 0];
  }
  return seconds;
}

/** The seconds for which writes wait. */
export function waitedOf(seconds: readonly Second[]): number {
  return seconds.filter(({ waits }) => waits).length;
}
