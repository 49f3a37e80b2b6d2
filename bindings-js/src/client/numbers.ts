/**
 * Numbers of this client's writes to the worker of another page, which let each take effect once.
 *
 * 1. A write gets its number when it is first sent, and keeps it when it is sent again. Calls that share an operation
 *    have successive numbers.
 * 2. After some calls nothing is sent until they are answered. The worker records that a conditional write took effect,
 *    but not that it was refused, and it records the progress of the last write only.
 */

import type { Method, Numbered, Operation } from "../codec/protocol.ts";
import type { Call } from "./outbox.ts";

/** Methods that write; one that opens a keyspace does if it sets a policy. */
const WRITES: ReadonlySet<Method> = new Set(["write_if", "clear", "drop_keyspace", "set_policy"]);
const POLICY = 3;

export class Numbers {
  /** The unanswered writes, by their first number, in order. */
  readonly #pending: Set<number> = new Set();
  #next = 1;
  /** The unanswered call after which nothing is sent. */
  #last: Call | undefined;
  /** Called when calls that were held back can be sent. */
  readonly #onFree: () => void;

  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  /** Whether a write is unanswered. */
  get any(): boolean {
    return this.#pending.size > 0;
  }

  /** Prepares for sending the calls without an answer again, from the first on. */
  restart(): void {
    this.#last = undefined;
  }

  /** Numbers the writes among calls; returns the number of calls that may be sent now. */
  admit(calls: readonly Call[]): number {
    for (const [at, call] of calls.entries()) {
      if (this.#last !== undefined && this.#last !== call) return at;
      const count = writesOf(call.operation);
      if (count === 0) continue;
      this.#number(call, count);
      if (call.operation.op === "call") this.#last = call;
    }
    return calls.length;
  }

  #number(call: Call, count: number): void {
    const operation = call.operation as Numbered;
    const number = operation.once?.number ?? this.#next;
    if (operation.once === undefined) {
      this.#next += count;
      this.#pending.add(number);
      const { resolve, reject } = call;
      call.resolve = (value) => (this.#answered(number, call), resolve(value));
      call.reject = (error) => (this.#answered(number, call), reject(error));
    }
    const [oldest = number] = this.#pending;
    operation.once = { number, oldest };
  }

  #answered(number: number, call: Call): void {
    this.#pending.delete(number);
    if (this.#last !== call) return;
    this.#last = undefined;
    this.#onFree();
  }
}

/** The number of writes in an operation. */
function writesOf(operation: Operation): number {
  if (operation.op === "write") return operation.ends?.length ?? 1;
  if (operation.op !== "call") return 0;
  const { method, args } = operation;
  return WRITES.has(method) || (method === "keyspace" && args[POLICY] !== undefined) ? 1 : 0;
}
