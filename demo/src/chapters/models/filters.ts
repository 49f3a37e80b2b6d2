/**
 * A Bloom filter: each key sets a few bits of one row. A key that finds one of its bits unset is not in the table; a
 * key whose bits were all set by others is a false positive.
 */

/** A filter. */
export interface Filter {
  bits: readonly boolean[];
  /** Bits that each key sets. */
  hashes: number;
}

/** Returns the filter of some keys, with that many bits for each. */
export function filterOf(keys: readonly string[], bitsPerKey: number): Filter {
  const bits = Array.from({ length: keys.length * bitsPerKey }, () => false);
  // The number by which false positives are fewest.
  const hashes = Math.max(Math.round(bitsPerKey * Math.LN2), 1);
  for (const key of keys) for (const at of placesIn({ bits, hashes }, key)) bits[at] = true;
  return { bits, hashes };
}

/** Returns the places of a key's bits. */
export function placesIn({ bits, hashes }: Filter, key: string): number[] {
  const [first, step] = [hash(key, 0x811c9dc5), hash(key, 0x9e3779b9) | 1];
  return Array.from({ length: hashes }, (_, i) => ((first + i * step) >>> 0) % bits.length);
}

/** Whether the filter says that the table may hold a key. */
export function mayHold(filter: Filter, key: string): boolean {
  return placesIn(filter, key).every((at) => filter.bits[at]);
}

/** Returns the share of false positives among keys that the table does not hold. */
export function falseShare(bitsPerKey: number): number {
  return Math.exp(-bitsPerKey * Math.LN2 ** 2);
}

/** The FNV-1a hash, with its bits mixed. */
function hash(key: string, seed: number): number {
  let value = seed;
  for (const letter of key) value = Math.imul(value ^ letter.charCodeAt(0), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
