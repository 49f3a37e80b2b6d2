/** Long calls of the engine, which run in steps so that others get their turns in between. */

import type { Steps } from "../../wasm/terrane.js";
import type { Engine } from "./engine.ts";

/** A long call that has started: later writes do not affect its result. */
export class StartedTask<T> {
  readonly end: Promise<T>;

  constructor(end: Promise<T>) {
    this.end = end;
  }
}

/** Runs steps: calls the module, unless the task was aborted, and yields to others in between. */
export interface StepRunner {
  step<T>(body: () => T): T;
  /** Yields; a caller that only waits for background jobs may do so until there are any. */
  turn(forJobs: boolean): Promise<void>;
}

/**
 * Runs all steps, yielding in between; returns the call's result. Steps may do nothing but wait for
 * background jobs.
 */
export async function runSteps(
  runner: StepRunner,
  steps: Steps,
  waitForJobs: boolean = false,
): Promise<unknown> {
  for (;;) {
    const result: unknown = runner.step(() => steps.step());
    if (result !== undefined) return result;
    await runner.turn(waitForJobs);
  }
}

/** Runs all steps at once; returns the call's result. */
export function runToEnd(engine: Engine, steps: Steps): unknown {
  let result: unknown;
  try {
    while (result === undefined) result = engine.call(() => steps.step());
  } finally {
    engine.module.release(steps);
  }
  return result;
}
