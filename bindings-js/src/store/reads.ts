/** The ranges that a query has read. */

import type { Bytes } from "../api/data.ts";
import { encodeUnchangedRange } from "../codec/conditions.ts";
import { Encoder, encodeRange } from "../codec/encoder.ts";

/** The most ranges that are kept; beyond that, whole keyspaces are. */
const MAX_RANGES = 1000;
const NUMBER_BYTES = 4;

/** A keyspace's number and an encoded range. */
type Range = [keyspace: number, range: Uint8Array];

export class Reads {
  #ranges: Range[] = [];
  /** The keyspaces of which everything counts as read. */
  readonly #whole: Set<number> = new Set();

  /** Adds the keys of an encoded range. */
  add(keyspace: number, range: Uint8Array): void {
    if (this.#whole.has(keyspace)) return;
    this.#ranges.push([keyspace, range]);
    if (this.#ranges.length <= MAX_RANGES) return;
    for (const [keyspace] of this.#ranges) this.#whole.add(keyspace);
    this.#ranges = [...this.#whole].map((keyspace) => [keyspace, encodeRange({})]);
  }

  addKeys(keyspace: number, keys: readonly Bytes[]): void {
    for (const key of keys) this.add(keyspace, encodeRange({ gte: key, lte: key }));
  }

  /** Encodes them for a watch: each after the number of its keyspace and its length. */
  encode(): Uint8Array {
    return encodeRanges(this.#ranges);
  }

  /** Encodes the conditions that nothing of them was written since a snapshot. */
  encodeUnchanged(snapshot: number): Uint8Array {
    const encoder = new Encoder();
    for (const [keyspace, range] of this.#ranges) {
      encodeUnchangedRange(encoder, keyspace, snapshot, range);
    }
    return encoder.bytes();
  }
}

/** Encodes ranges, each after the number of its keyspace and its length. */
export function encodeRanges(ranges: readonly Range[]): Uint8Array {
  const encoder = new Encoder();
  for (const [keyspace, range] of ranges) {
    const head = new DataView(new ArrayBuffer(2 * NUMBER_BYTES));
    head.setUint32(0, keyspace, true);
    head.setUint32(NUMBER_BYTES, range.length, true);
    encoder.add(new Uint8Array(head.buffer));
    encoder.add(range);
  }
  return encoder.bytes();
}
