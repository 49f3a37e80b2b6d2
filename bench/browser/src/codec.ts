/**
 * Keys and values side by side in one buffer. All keys are of one length and all values of another, so
 * that no length is written.
 */

import type { Entry } from "./contender.ts";

export const KEY = 16;
export const VALUE = 100;

export function concatenate(strings: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(strings.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const string of strings) {
    whole.set(string, at);
    at += string.length;
  }
  return whole;
}

export function split(bytes: Uint8Array, length: number): Uint8Array[] {
  return Array.from({ length: bytes.length / length }, (_, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  );
}

export function entriesOf(bytes: Uint8Array): Entry[] {
  return split(bytes, KEY + VALUE).map((entry) => [entry.subarray(0, KEY), entry.subarray(KEY)]);
}
