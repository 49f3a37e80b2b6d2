/**
 * The numbers of this client's writes to the worker of another page, by which each takes effect once.
 *
 * 1. A write gets its number when it is first sent, and keeps it when it is sent again. Calls that share an operation
 *    have successive numbers.
 * 2. After a conditional write nothing is sent until it is answered: the worker records that a write took effect, but
 *    not that one was refused.
 */

import type { Numbered, Operation } from "../codec/protocol.ts";
import type { Call } from "./outbox.ts";

export class Numbers {
  /** The unanswered writes, by their first number, in order. */
  readonly #pending: Set<number> = new Set();
  #next = 1;
  /** The conditional write that is unanswered. */
  #conditional: Call | undefined;
  /** Called when calls that were held back can be sent. */
  readonly #onFree: () => void;

  constructor(onFree: () => void) {
    this.#onFree = onFree;
  }

  /** Whether a write is unanswered. */
  get any(): boolean {
    return this.#pending.size > 0;
  }

  /** The calls without an answer are sent again, from the first on. */
  restart(): void {
    this.#conditional = undefined;
  }

  /** Numbers the writes among calls; returns the number of calls that may be sent now. */
  admit(calls: readonly Call[]): number {
    for (const [at, call] of calls.entries()) {
      if (this.#conditional !== undefined && this.#conditional !== call) return at;
      const count = writesOf(call.operation);
      if (count === 0) continue;
      this.#number(call, count);
      if (call.operation.op === "call") this.#conditional = call;
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
    if (this.#conditional !== call) return;
    this.#conditional = undefined;
    this.#onFree();
  }
}

/** The number of writes in an operation. */
function writesOf(operation: Operation): number {
  if (operation.op === "write") return operation.ends?.length ?? 1;
  return operation.op === "call" && operation.method === "write_if" ? 1 : 0;
}
