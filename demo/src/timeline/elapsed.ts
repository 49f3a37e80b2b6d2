/** Times in which something went on, one after another: for how long until a moment is found by search. */

import { search } from "./search.ts";

/** Spans of time that do not overlap, in their order. Times are in microseconds. */
export class Elapsed {
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  /** The length of all spans before each. */
  readonly #before: number[] = [];

  /** Notes that it starts; one that continues ends. */
  begin(micros: number): void {
    this.end(micros);
    this.#before.push(this.until(micros));
    this.#from.push(micros);
    this.#to.push(Infinity);
  }

  /** Notes that it ends, if it continues. */
  end(micros: number): void {
    const last = this.#to.length - 1;
    if (this.#to[last] === Infinity) this.#to[last] = micros;
  }

  /** For how long it went on up to a moment. */
  until(micros: number): number {
    const at = search(this.#from.length, (i) => (this.#from[i] ?? 0) <= micros) - 1;
    const [from, to, before] = [this.#from[at], this.#to[at], this.#before[at]];
    if (from === undefined || to === undefined || before === undefined) return 0;
    return before + Math.min(to, micros) - from;
  }
}
