/** The ways in which methods return: promises or results. */

import type { WaitOptions } from "./options.ts";

/** Whether methods return promises. */
export type Mode = "sync" | "async";

/** Result of a method. */
export type Result<M extends Mode, T> = M extends "async" ? Promise<T> : T;

/** Constraint on what a transaction's body returns: no promise where methods return results. */
export type Returnable<M extends Mode, T> = M extends "async"
  ? unknown
  : T extends PromiseLike<unknown>
    ? never
    : T;

/** Result of an iteration. */
export type Iteration<M extends Mode, T> = M extends "async"
  ? AsyncGenerator<T, void, undefined>
  : Generator<T, void, undefined>;

/** A method's options; where methods return promises, each also takes a signal. */
export type CallOptions<M extends Mode, O = object> = M extends "async" ? O & WaitOptions : O;
