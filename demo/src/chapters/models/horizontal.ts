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

/** The recording's levels, and the numbers that its rounds start at; the one of 4 is drawn. */
export const ROUNDS = { levels: 3, starts: [1, 2, 4, 6], drawn: 4, next: 6 } as const;

/** A step with the runs of each level after it. */
export interface WalkStep extends CounterStep {
  runs: number[];
}

/** Returns the steps of a round, with the runs that they leave. */
export function walkOf(levels: number, k: number): WalkStep[] {
  const runs = Array.from({ length: levels }, () => 0);
  return countersOf(levels, k).map((step) => {
    // The admission is a run of the level that its cascade ends in, with all runs above.
    const into = step.merged.length;
    runs.fill(0, 0, into);
    runs[into] = (runs[into] ?? 0) + 1;
    return { ...step, runs: [...runs] };
  });
}

/** Says in short sentences how a step of a round of two levels changes its counters. */
export function sentencesOf(steps: readonly WalkStep[], at: number): string[] {
  const step = steps[at];
  if (step === undefined) return [];
  const before = steps[at - 1];
  const [one = 0, two = 0] = step.counters;
  const [first, second] = before?.counters ?? [one + 1, two];
  const lowered = `A run arrives in level 1. Counter 1 falls from ${first} to ${(first ?? 0) - 1}.`;
  if (step.merged.length === 0) return [lowered];
  const runs = (before?.runs[0] ?? 0) + 1;
  const merged =
    runs === 1
      ? "Its one run goes down into level 2."
      : `Its ${runs} runs become one run of level 2.`;
  const passed = `So level 1 is due. ${merged} Counter 2 falls from ${second} to ${two}.`;
  const again =
    two === 0
      ? "All counters are 0: the round is over, and the runs of level 2, the last, stay."
      : `Counter 1 starts again where counter 2 is: at ${one}.`;
  return [lowered, passed, again];
}
