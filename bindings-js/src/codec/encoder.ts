/**
 * Keys, ranges and batches as the engine reads them, each in one buffer that is transferred between
 * threads, not copied. Results are in byte-list.ts.
 *
 * - A byte string is its length (unsigned 32 bits, little-endian), then its bytes.
 * - A list of keys is their byte strings.
 * - A range is its two bounds: a byte 0 for an unbounded end, 1 for an inclusive or 2 for an exclusive
 *   one, followed by the key unless it is 0. Here a lower bound is inclusive and an upper one exclusive,
 *   but for those that would be longer than a key.
 * - A list of ranges has, before each, the number of its keyspace and its length (both unsigned 32 bits).
 * - A batch is encoded as in the engine's WAL. An operation is a byte 0 for a delete, 1 for a put, 2 for the delete
 *   of a range, 3 for a merge or 4 for a put that expires, then the keyspace, the key and, unless it is a delete, the
 *   value; numbers and lengths are varints. A range has its first key, then 0 or, plus one, the length of the first
 *   key behind it, and that key. A value that expires starts with its time: milliseconds since the epoch (unsigned 64
 *   bits, little-endian). The value of a merge is the number of its operator, then an integer (64 bits,
 *   little-endian).
 */

import { type Bytes, MAX_KEY_BYTES, MAX_VALUE_BYTES } from "../api/data.ts";
import { encodeBytes, encodeInto, maxByteLength, toContent } from "./bytes.ts";
import type { Merge } from "./operand.ts";

/** The longest batch, in encoded bytes: keys, values, and up to 13 bytes per operation. */
export const MAX_BATCH_BYTES: number = 128 << 20;

const DELETE = 0;
const PUT = 1;
const DELETE_RANGE = 2;
const MERGE = 3;
const PUT_EXPIRING = 4;
/** The size of the time before a value that expires. */
const EXPIRY = 8;
/** The size of a length that is not a varint. */
const FIXED = 4;

/** The size of the first buffer that is allocated. */
const MIN_BYTES = 256;
/** The buffer of an encoder that has encoded nothing. */
const EMPTY = new Uint8Array();

/** The longest value that expires. */
export const MAX_EXPIRING_BYTES: number = MAX_VALUE_BYTES - EXPIRY;

/** Encodes into a buffer that grows. */
export class Encoder {
  #bytes: Uint8Array<ArrayBuffer> = EMPTY;
  #length = 0;

  /** Bytes encoded so far. */
  get length(): number {
    return this.#length;
  }

  /** Discards everything after `length` bytes. */
  truncate(length: number): void {
    this.#length = length;
  }

  put(keyspace: number, key: Bytes, value: Bytes, expiresAt?: number): void {
    if (expiresAt === undefined) {
      this.#operation(PUT, keyspace, key);
      this.value(value);
      return;
    }
    const bytes = encodeBytes("value", value, MAX_EXPIRING_BYTES);
    this.#operation(PUT_EXPIRING, keyspace, key);
    this.varint(EXPIRY + bytes.length);
    this.#reserve(EXPIRY);
    new DataView(this.#bytes.buffer).setBigUint64(this.#length, BigInt(expiresAt), true);
    this.#length += EXPIRY;
    this.add(bytes);
  }

  merge(keyspace: number, key: Bytes, { operator, operand }: Merge): void {
    this.#operation(MERGE, keyspace, key);
    this.#reserve(10);
    const view = new DataView(this.#bytes.buffer, this.#length);
    view.setUint8(0, 9);
    view.setUint8(1, operator);
    view.setBigInt64(2, operand, true);
    this.#length += 10;
  }

  delete(keyspace: number, key: Bytes): void {
    this.#operation(DELETE, keyspace, key);
  }

  /** A delete of the keys from one on, up to another or to the end; nothing if there can be none. */
  deleteSpan(keyspace: number, { from, to }: Span): void {
    if (to !== undefined && !isBefore(from, to)) return;
    this.#head(DELETE_RANGE, keyspace);
    this.#byteString("bound", from, MAX_KEY_BYTES + 1);
    this.varint(to === undefined ? 0 : to.length + 1);
    if (to !== undefined) this.add(to);
  }

  key(key: Bytes): void {
    this.#byteString("key", key, MAX_KEY_BYTES, FIXED);
  }

  /** The head of a condition, with its key unless it is on a range. */
  condition(kind: number, keyspace: number, key?: Bytes): void {
    if (key === undefined) this.#head(kind, keyspace);
    else this.#operation(kind, keyspace, key);
  }

  value(value: Bytes): void {
    this.#byteString("value", value, MAX_VALUE_BYTES);
  }

  /** A non-negative integer below 2^32. */
  varint(value: number): void {
    this.#reserve(5);
    this.#length = putVarint(this.#bytes, this.#length, value);
  }

  double(value: number): void {
    this.#reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** A bound of a range; `kind` is 1 if it is inclusive, 2 if it is not. */
  bound(kind: number, key: Uint8Array | undefined): void {
    this.#reserve(1);
    const at = this.#length++;
    this.#bytes[at] = key === undefined ? 0 : kind;
    if (key === undefined) return;
    // The first key behind the longest ones is too long; the key before it expresses the same bound.
    if (key.length > MAX_KEY_BYTES) this.#bytes[at] = 3 - kind;
    this.key(key.subarray(0, MAX_KEY_BYTES));
  }

  /** A number of 32 bits, then the bytes after their length: a range after its keyspace. */
  numbered(number: number, bytes: Uint8Array): void {
    this.#reserve(FIXED);
    this.#fixed(this.#length, number);
    this.#length += FIXED;
    this.#byteString("range", bytes, bytes.length, FIXED);
  }

  /** Appends what another encoder has encoded. */
  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Everything encoded so far, as a view of the encoder's buffer. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #head(kind: number, keyspace: number): void {
    this.#reserve(6);
    this.#bytes[this.#length++] = kind;
    this.#length = putVarint(this.#bytes, this.#length, keyspace);
  }

  #operation(kind: number, keyspace: number, key: Bytes): void {
    this.#head(kind, keyspace);
    this.#byteString("key", key, MAX_KEY_BYTES);
  }

  /** Appends a byte string after its length, which takes `head` bytes or is a varint. */
  #byteString(what: string, content: Bytes, limit: number, head?: number): void {
    const text = toContent(what, content);
    this.#reserve(8 + maxByteLength(what, text, limit));
    const at = this.#length;
    // A string has at least one byte for each character, and usually exactly one.
    const start = at + (head ?? varintBytes(text.length));
    const length = encodeInto(what, text, limit, this.#bytes, start);
    this.#length = start + length;
    if (head === undefined) this.#varint(at, start, length);
    else this.#fixed(at, length);
  }

  #fixed(at: number, value: number): void {
    for (let i = 0; i < FIXED; i++) this.#bytes[at + i] = value >>> (8 * i);
  }

  /** Writes the varint `length` at `at`, before the bytes at `start`. */
  #varint(at: number, start: number, length: number): void {
    const end = at + varintBytes(length);
    if (end !== start) {
      this.#bytes.copyWithin(end, start, start + length);
      this.#length += end - start;
    }
    putVarint(this.#bytes, at, length);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length, MIN_BYTES));
    grown.set(this.bytes());
    this.#bytes = grown;
  }
}

/** The keys from `from` up to `to`, which is not one of them, or to the end. */
export interface Span {
  from: Uint8Array;
  to: Uint8Array | undefined;
}

/** Encodes a range. */
export function encodeSpan({ from, to }: Span): Uint8Array<ArrayBuffer> {
  const encoder = new Encoder();
  encoder.bound(1, from.length > 0 ? from : undefined);
  encoder.bound(2, to);
  return encoder.bytes();
}

function isBefore(a: Uint8Array, b: Uint8Array): boolean {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at === -1 ? a.length < b.length : (a[at] as number) < (b[at] ?? -1);
}

function varintBytes(value: number): number {
  let bytes = 1;
  while ((value >>>= 7) > 0) bytes += 1;
  return bytes;
}

/** Writes a varint, seven bits per byte, lowest first; returns its end. */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    bytes[at++] = value | 0x80;
    value >>>= 7;
  }
  bytes[at++] = value;
  return at;
}
