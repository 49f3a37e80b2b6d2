/** Calls of the engine that go in steps, so that others have their turns in between. */

import type { Steps, Store } from "../wasm/terrane.js";
import { type Engine, release } from "./engine.ts";

/** What takes its time and has begun: the moment that it shows has passed. */
export class Task<T> {
  readonly end: Promise<T>;

  constructor(end: Promise<T>) {
    this.end = end;
  }
}

/** Who does steps: it calls the module, unless they were called off, and has others take their turns. */
export interface Walker {
  step<T>(body: () => T): T;
  turn(): Promise<void>;
}

/** Does all steps, others between them; returns the call's result. */
export async function walk(walker: Walker, steps: Steps): Promise<unknown> {
  for (;;) {
    const result: unknown = walker.step(() => steps.step());
    if (result !== undefined) return result;
    await walker.turn();
  }
}

/** Does all steps at once; returns the call's result. */
export function complete(engine: Engine, begin: (store: Store) => Steps): unknown {
  const steps = engine.call(begin);
  let result: unknown;
  try {
    while (result === undefined) result = engine.call(() => steps.step());
  } finally {
    release(steps);
  }
  engine.askTurn();
  return result;
}
