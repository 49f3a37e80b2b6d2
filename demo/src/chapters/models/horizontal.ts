/**
 * Moments at which the first level's runs are merged into one of the second, and the cost of reads until
 * then.
 */

/**
 * The runs of both levels after each admission, if level 1 is merged into a new run of level 2 after
 * those admissions that are named, counted from 1.
 */
export function runsOver(admissions: number, merges: ReadonlySet<number>): [number, number][] {
  const runs: [number, number][] = [];
  let [one, two] = [0, 0];
  for (let at = 1; at <= admissions; at++) {
    one += 1;
    if (merges.has(at)) [one, two] = [0, two + 1];
    runs.push([one, two]);
  }
  return runs;
}

/**
 * Lookups into runs, one for each megabyte that is written until all are there, if an admission is of that
 * size. The last admission ends it.
 */
export function readCost(
  admissions: number,
  merges: ReadonlySet<number>,
  megabytes: number,
): { level1: number; level2: number } {
  const before = runsOver(admissions, merges).slice(0, -1);
  return {
    level1: before.reduce((sum, [one]) => sum + one, 0) * megabytes,
    level2: before.reduce((sum, [, two]) => sum + two, 0) * megabytes,
  };
}

/** A step of horizontal tiering: the counters after an admission, and the levels that were merged. */
export interface CounterStep {
  counters: number[];
  merged: number[];
}

/**
 * Horizontal tiering with a number of levels: counters start at k; an admission lowers the first; a level
 * whose counter is 0 is merged into the next, whose counter it lowers; then all above where that ends are
 * set to the counter there. It ends when all are 0.
 */
export function countersOf(levels: number, k: number): CounterStep[] {
  const steps: CounterStep[] = [];
  const counters = Array.from({ length: levels }, () => k);
  while (counters.some((counter) => counter > 0)) {
    const merged: number[] = [];
    let at = 0;
    counters[0] = (counters[0] ?? 0) - 1;
    while (counters[at] === 0 && at + 1 < levels) {
      merged.push(at + 1);
      at += 1;
      counters[at] = (counters[at] ?? 0) - 1;
    }
    counters.fill(counters[at] ?? 0, 0, at);
    steps.push({ counters: [...counters], merged });
  }
  return steps;
}
