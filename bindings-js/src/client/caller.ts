/** Calls of one opening of a store. */

import type { Arguments, Method, Operation, Returned } from "../codec/protocol.ts";

/** Something that the worker holds for an opening: a snapshot or a scan. */
export interface Resource {
  /** Makes the worker release it. */
  release(): void;
  /** Notes that the worker has released it by itself. */
  forget(): void;
}

/** Sends calls, and releases what the worker holds for them when the opening is closed. */
export interface Caller {
  /** Sends an operation; resolves to the value of its reply. */
  call(operation: Operation): Promise<unknown>;
  /** Calls a method of the engine's store. */
  invoke<M extends Method>(method: M, ...args: Arguments<M>): Returned<M>;
  /** Registers what the worker holds until `release` is sent. */
  hold(release: Operation): Resource;
}
