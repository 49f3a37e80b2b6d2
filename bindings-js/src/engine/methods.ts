/** Calls of the engine's store by the names of its methods. */

import type { Steps, Store } from "../../wasm/terrane.js";
import { UnavailableError } from "../api/errors.ts";
import type { Arguments, Method, Methods } from "../codec/protocol.ts";
import type { Engine } from "./engine.ts";

/** The methods of the engine's store; long calls return steps. */
type Callable = { [M in Method]: (...args: Arguments<M>) => ReturnType<Methods[M]> | Steps };

/**
 * Calls a method, of what a client has of the store if it is not the first. A long call returns its steps, which the
 * caller runs and releases.
 */
export function invoke(
  engine: Engine,
  method: Method,
  args: readonly unknown[],
  view?: Store,
): unknown {
  if (method === "stats") return engine.stats();
  const result = engine.call((store: Partial<Callable>) => {
    if (store[method] === undefined) throw unknownCall(method);
    return (store[method] as (...args: unknown[]) => unknown)(...args);
  }, view);
  wroteBy(engine, method);
  return result;
}

/** Schedules what follows a write, if the method has written. */
export function wroteBy(engine: Engine, method: Method): void {
  if (method === "write_if" || method === "clear") engine.wrote();
}

/** Returns the error for a call that only a page of another release can have sent. */
export function unknownCall(call: string): UnavailableError {
  const where = "the worker that has the store is of another release of this package";
  return new UnavailableError(`${where}, without "${call}": close the page that started it`);
}

/** Whether a call has returned its steps. */
export function isSteps(engine: Engine, result: unknown): result is Steps {
  return result instanceof engine.module.glue.Steps;
}
