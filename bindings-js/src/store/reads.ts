/** The ranges that a query has read. */

import type { Bytes, Encoding } from "../api/data.ts";
import { encodeUnchanged } from "../codec/conditions.ts";
import { Encoder } from "../codec/encoder.ts";
import { encodeRange } from "../codec/span.ts";

/** The most ranges that are kept; beyond that, whole keyspaces are. */
const MAX_RANGES = 1000;

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
    this.#ranges = [...this.#whole].map((keyspace) => [keyspace, encodeRange({}, "utf8")]);
  }

  addKeys(keyspace: number, keys: readonly Bytes[]): void {
    for (const key of keys)
      this.add(keyspace, encodeRange({ gte: key, lte: key }, "binary" as Encoding));
  }

  /** Encodes them for a watch: each after the number of its keyspace and its length. */
  encode(): Uint8Array {
    const encoder = new Encoder();
    for (const [keyspace, range] of this.#ranges) encoder.numbered(keyspace, range);
    return encoder.bytes();
  }

  /** Encodes the conditions that nothing of them was written since a snapshot. */
  encodeUnchanged(snapshot: number): Uint8Array {
    const encoder = new Encoder();
    for (const [keyspace, range] of this.#ranges) {
      encodeUnchanged(encoder, keyspace, snapshot, range);
    }
    return encoder.bytes();
  }
}
