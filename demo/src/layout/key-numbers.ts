/**
 * Keys as numbers from 0 to 1, in their order, and back.
 *
 * 1. The bytes that all keys share are left out; the others are digits, each of its place.
 * 2. Where all keys are text, a place has digits only for what is written there: as most bytes are no
 *    letters, names and decimal numbers would lie in clusters.
 * 3. Which characters a place has is guessed from some keys, by kinds: where there is a 4, there may be a 7.
 */

/** Keys as numbers. */
export interface KeyNumbers {
  of(key: Uint8Array): number;
  /** The key of a number, as far as it is known: a prefix. */
  key(number: number): Uint8Array;
}

/** Bytes of a key that count: more would not change a position. */
const KEY_BYTES = 6;
/** Characters of a key that are looked at. */
const TEXT_BYTES = 64;
/** The most that the digits of all places distinguish: a number has no more. */
const DISTINCT = 2 ** 48;

/**
 * Kinds of characters, from the first to the last: a place has all of a kind where it has one from the second
 * on. What has no letter after f is a hexadecimal number.
 */
const KINDS = ["009", "aaf", "agz", "AAF", "AGZ"].map((kind) => {
  const [first = 0, from = 0, last = 0] = new TextEncoder().encode(kind);
  return { first, from, last };
});

/** Characters at each place of keys, as long as all are text. */
export class Characters {
  readonly #places: Set<number>[] = [];
  #areText = true;

  /** Whether all keys so far are text. */
  get areText(): boolean {
    return this.#areText;
  }

  /** Notes a key. */
  note(key: Uint8Array): void {
    if (!this.#areText) return;
    const seen = key.subarray(0, TEXT_BYTES);
    this.#areText = seen.every((byte) => byte >= 0x20 && byte <= 0x7e);
    seen.forEach((byte, place) => (this.#places[place] ??= new Set()).add(byte));
  }

  /** The bytes that a place may have, in their order. */
  at(place: number): number[] {
    const seen = [...(this.#places[place] ?? [])];
    const all = new Set(seen);
    for (const { first, from, last } of KINDS) {
      if (!seen.some((byte) => byte >= from && byte <= last)) continue;
      for (let byte = first; byte <= last; byte++) all.add(byte);
    }
    return [...all].sort((a, b) => a - b);
  }
}

/** Keys from the least to the greatest as numbers; `characters` are those of some. */
export function keyNumbers(
  least: Uint8Array,
  greatest: Uint8Array,
  characters: Characters,
): KeyNumbers {
  const prefix = least.subarray(0, sharedLength(least, greatest));
  return characters.areText ? textNumbers(prefix, characters) : byteNumbers(prefix);
}

/** Returns the number of equal bytes at the start of two keys. */
export function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let shared = 0;
  while (shared < length && a[shared] === b[shared]) shared += 1;
  return shared;
}

function byteNumbers(prefix: Uint8Array): KeyNumbers {
  return {
    of(key) {
      let [value, unit] = [0, 1];
      for (let i = prefix.length; i < prefix.length + KEY_BYTES; i++) {
        unit /= 256;
        value += (key[i] ?? 0) * unit;
      }
      return value;
    },
    key(value) {
      const rest = Array.from({ length: KEY_BYTES }, () => {
        const digit = Math.min(Math.floor(value * 256), 255);
        value = value * 256 - digit;
        return digit;
      });
      return Uint8Array.from([...prefix, ...rest]);
    },
  };
}

/** A digit 0 is the end of a key. A byte that its place does not have lies where the next one starts. */
function textNumbers(prefix: Uint8Array, characters: Characters): KeyNumbers {
  const places: number[][] = [];
  for (let distinct = 1; ;) {
    const place = characters.at(prefix.length + places.length);
    distinct *= place.length + 1;
    if (place.length === 0 || distinct > DISTINCT) break;
    places.push(place);
  }
  return {
    of(key) {
      let [value, unit] = [0, 1];
      for (const [i, place] of places.entries()) {
        const byte = key[prefix.length + i];
        if (byte === undefined) break;
        unit /= place.length + 1;
        const at = place.findIndex((other) => other >= byte);
        value += ((at < 0 ? place.length : at) + 1) * unit;
        if (place[at] !== byte) break;
      }
      return value;
    },
    key(value) {
      const rest: number[] = [];
      for (const place of places) {
        const digits = place.length + 1;
        const digit = Math.min(Math.floor(value * digits), place.length);
        const byte = place[digit - 1];
        if (byte === undefined) break;
        value = value * digits - digit;
        rest.push(byte);
      }
      return Uint8Array.from([...prefix, ...rest]);
    },
  };
}
