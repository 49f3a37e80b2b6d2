/**
 * The entries, the same for every contender.
 *
 * 1. Keys are 16 bytes: random 64-bit numbers in hexadecimal, so that neighbours share little.
 * 2. Values are 100 bytes, 48 of them random and the rest zeros, so that they compress to about half.
 */

const VALUE_BYTES = 100;
const RANDOM_BYTES = 48;

/** A stream of 32-bit numbers (splitmix32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  next(): number {
    this.#state = (this.#state + 0x9e37_79b9) | 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }

  below(limit: number): number {
    return this.next() % limit;
  }
}

/** `count` keys in ascending order, all different. */
export function makeKeys(count: number): Uint8Array[] {
  const random = new Random(1);
  const hex = () => random.next().toString(16).padStart(8, "0");
  const keys = new Set<string>();
  while (keys.size < count) keys.add(hex() + hex());
  const encoder = new TextEncoder();
  return [...keys].sort().map((key) => encoder.encode(key));
}

/** A value in its own buffer. */
export function makeValue(random: Random): Uint8Array {
  const value = new Uint8Array(VALUE_BYTES);
  const words = new DataView(value.buffer);
  for (let at = 0; at < RANDOM_BYTES; at += 4) words.setUint32(at, random.next(), true);
  return value;
}

/** The ranks from 0 to `count`, shuffled. */
export function shuffled(count: number, seed: number): number[] {
  const random = new Random(seed);
  const ranks = Array.from({ length: count }, (_, rank) => rank);
  for (let last = count - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [ranks[last], ranks[other]] = [ranks[other]!, ranks[last]!];
  }
  return ranks;
}

/** Whether two byte strings are equal. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
