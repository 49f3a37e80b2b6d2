/** Arguments that are refused: what was expected, and what was found. */

import { InvalidArgumentError } from "./errors.ts";

/** The error for an argument. */
export function refused(what: string, expected: string, found: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${what}: expected ${expected}, found ${show(found)}`);
}

/** The argument, if it is as expected. */
export function check<T>(what: string, value: T, fits: boolean, expected: string): T {
  if (fits) return value;
  throw refused(what, expected, value);
}

/** The argument, if it is one of two words. */
export function oneOf<T extends string>(what: string, value: T, first: T, second: T): T {
  if (value === first || value === second) return value;
  throw refused(what, `"${first}" or "${second}"`, value);
}

/** Whether it is an object of that class of the language or the browser, of whichever frame. */
export function isTagged<T>(value: unknown, name: string): value is T {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

/** Whether it is a `Uint8Array`, of whichever frame. */
export function isBytes(value: unknown): value is Uint8Array {
  return (
    value instanceof Uint8Array || (ArrayBuffer.isView(value) && isTagged(value, "Uint8Array"))
  );
}

/** Refuses what is too long. */
export function checkLength(what: string, found: number, limit: number): void {
  if (found > limit) throw refused(what, `at most ${limit} bytes`, found);
}

/** A value as it is written, or the kind of an object. */
function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  return value.constructor?.name ?? "an object";
}
