/** Validation of arguments: errors say what was expected and what was found. */

import { InvalidArgumentError } from "../api/errors.ts";

/** The error for an invalid argument. */
export function invalid(what: string, expected: string, found: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${what}: expected ${expected}, found ${describe(found)}`);
}

/** Returns the argument, or throws if it is not `valid`. */
export function check<T>(what: string, value: T, valid: boolean, expected: string): T {
  if (valid) return value;
  throw invalid(what, expected, value);
}

/** Returns the argument, or throws if it is not one of two strings. */
export function oneOf<T extends string>(what: string, value: T, first: T, second: T): T {
  if (value === first || value === second) return value;
  throw invalid(what, `"${first}" or "${second}"`, value);
}

/** Throws if a length exceeds its limit. */
export function checkLength(what: string, found: number, limit: number): void {
  if (found > limit) throw invalid(what, `at most ${limit} bytes`, found);
}

/** Whether a value is an instance of a built-in class, also one of another frame. */
export function isTagged<T>(value: unknown, name: string): value is T {
  return Object.prototype.toString.call(value) === `[object ${name}]`;
}

/** Whether a value is a `Uint8Array`, also one of another frame. A `Proxy` of one is not. */
export function isBytes(value: unknown): value is Uint8Array {
  return (
    ArrayBuffer.isView(value) && (value instanceof Uint8Array || isTagged(value, "Uint8Array"))
  );
}

/** Whether a value is a view or a buffer of bytes. */
export function isBytesLike(value: unknown): value is ArrayBufferView | ArrayBuffer {
  return ArrayBuffer.isView(value) || isTagged(value, "ArrayBuffer");
}

/** Throws if the buffer of `bytes` was transferred or has become too short: they would seem empty. */
export function checkPresent(what: string, bytes: Uint8Array): void {
  if (bytes.length > 0) return;
  try {
    Uint8Array.prototype.at.call(bytes, 0);
  } catch (cause) {
    const found = "a Uint8Array whose buffer was transferred or shrunk";
    throw new InvalidArgumentError(`${what}: expected bytes, found ${found}`, { cause });
  }
}

/** Whether text has no lone surrogate, which UTF-8 cannot express. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed?.() ?? !/\p{Cs}/u.test(text);
}

/** The most characters of text that an error shows. */
const SHOWN = 100;

/** A primitive as it is written in code, or the class of an object. */
function describe(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
  }
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const name = value.constructor?.name || "an object";
  return value instanceof Uint8Array && !isBytes(value) ? `a Proxy of ${name}` : name;
}

/** Throws if a name does not have the `expected` form. */
export function checkName(what: string, name: string, pattern: RegExp, expected: string): string {
  return check(what, name, typeof name === "string" && pattern.test(name), expected);
}

/** The longest delay of a timer. */
const MAX_TIME = 2 ** 31 - 1;

/** Throws if it is a number of another kind, or not from `min` to `max`. */
export function checkNumber<T extends number | undefined>(
  what: string,
  value: T,
  min: number,
  max: number,
  unit: string,
  isKind: (value: unknown) => boolean = Number.isFinite,
): T {
  const valid = value === undefined || (isKind(value) && value >= min && value <= max);
  return check(what, value, valid, `${min} to ${max} ${unit}`);
}

/** Throws if it is no delay in milliseconds that a timer can have. */
export function checkTime(what: string, time: number): number {
  return checkNumber(what, time, 0, MAX_TIME, "milliseconds");
}

/** Throws if it is not a boolean. */
export function checkBoolean(what: string, value: boolean): boolean {
  return check(what, value, typeof value === "boolean", "true or false");
}
