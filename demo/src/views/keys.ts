/** Keys as text. */

import { sharedLength } from "../layout/key-numbers.ts";
import { keyHex } from "../source/hex.ts";
import type { State } from "../timeline/state.ts";

/** Whether a key starts as text does. */
function beginsAsText(key: Uint8Array): boolean {
  return key.subarray(0, 3).every((byte) => byte >= 0x20 && byte <= 0x7e);
}

/** Whether keys are numbers: then those that happen to be text are no exception. */
export function areNumbers({ levels }: State): boolean {
  return levels.some(({ runs }) =>
    runs.some(({ tables }) =>
      [tables[0]?.smallest, tables.at(-1)?.largest].some((key) => key && !beginsAsText(key)),
    ),
  );
}

/** A key in a few characters: as text if it is that and keys are not numbers, otherwise its first bytes. */
export function keyLabel(key: Uint8Array, numbers: boolean): string {
  const printable = key.findIndex((byte) => byte < 0x20 || byte > 0x7e);
  if (!numbers && (printable < 0 || printable >= 3)) {
    return new TextDecoder().decode(key.subarray(0, printable < 0 ? 8 : Math.min(printable, 8)));
  }
  return Array.from(key.subarray(0, 2), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A whole key: as text if it is that and keys are not numbers, otherwise in hexadecimal digits. */
export function keyText(key: Uint8Array, numbers: boolean): string {
  if (!numbers && key.every((byte) => byte >= 0x20 && byte <= 0x7e))
    return new TextDecoder().decode(key);
  return keyHex(key);
}

/** The most characters of what is the same in all labels of an axis. */
const SHARED_MAX = 6;
/** The most of the first label, which has more room than it needs. */
const FIRST_MAX = 12;

/**
 * Returns the labels of an axis, whose keys are in order. A text has one character more than distinguishes
 * it from its neighbours; a long common start is shown once, by the first.
 */
export function axisLabels(keys: readonly Uint8Array[], numbers: boolean): string[] {
  const [first, last] = [keys[0], keys.at(-1)];
  if (numbers || first === undefined || last === undefined) {
    return keys.map((key) => keyLabel(key, numbers));
  }
  const shared = sharedLength(first, last);
  return keys.map((key, i) => {
    const near = [keys[i - 1], keys[i + 1]].filter((other) => other !== undefined);
    const needed = Math.max(...near.map((other) => sharedLength(key, other)), shared) + 2;
    const text = new TextDecoder().decode(key.subarray(0, needed));
    if (shared <= SHARED_MAX) return text;
    return i === 0 && text.length <= FIRST_MAX ? text : `…${text.slice(shared)}`;
  });
}
