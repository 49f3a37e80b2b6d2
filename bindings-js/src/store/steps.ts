/** Calls in steps, which run in either kind of store. */

import type { Iteration, Mode, Result } from "../api/store.ts";
import type { Port } from "./port.ts";

/** A call in steps: it yields results of other calls, and continues with their values. */
export type Steps<T> = Generator<unknown, T, unknown>;

/** Runs a call in steps to its end. */
export function runSteps<M extends Mode, T>({ isSync }: Port<M>, steps: Steps<T>): Result<M, T> {
  return (isSync ? runSync(steps) : runAsync(steps)) as Result<M, T>;
}

/** Iterates over what calls in steps return, until one returns undefined; `end` is called at the end. */
export function generate<M extends Mode, T>(
  { isSync }: Port<M>,
  next: () => Steps<T | undefined>,
  end: () => unknown,
): Iteration<M, T> {
  return (isSync ? generateSync(next, end) : generateAsync(next, end)) as Iteration<M, T>;
}

function runSync<T>(steps: Steps<T>): T {
  let step = steps.next();
  while (!step.done) step = steps.next(step.value);
  return step.value;
}

async function runAsync<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (!step.done) {
    let value: unknown;
    try {
      value = await step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

function* generateSync<T>(
  next: () => Steps<T | undefined>,
  end: () => unknown,
): Generator<T, void, undefined> {
  try {
    for (;;) {
      const item = runSync(next());
      if (item === undefined) return;
      yield item;
    }
  } finally {
    end();
  }
}

async function* generateAsync<T>(
  next: () => Steps<T | undefined>,
  end: () => unknown,
): AsyncGenerator<T, void, undefined> {
  try {
    for (;;) {
      const item = await runAsync(next());
      if (item === undefined) return;
      yield item;
    }
  } finally {
    end();
  }
}
