/**
 * Keys, ranges and batches in one buffer each, so that a message copies nothing twice. How keys and
 * values come back is in strings.ts.
 *
 * - A byte string is its length (unsigned 32 bits, little-endian), then its bytes.
 * - Keys are byte strings one after the other.
 * - A range is its two ends: a byte 0 for an open one, 1 for one that is included or 2 for one that
 *   is excluded, then (not for 0) the key.
 * - A batch is as it lies in the engine's log. An operation is a byte 0 for a delete or 1 for a put,
 *   the keyspace, the key and, for a put, the value; numbers and lengths are varints.
 */

import { check, checkLength, isBytes } from "./argument.ts";
import { InvalidArgumentError } from "./errors.ts";

/** The longest key, in bytes. */
export const MAX_KEY_BYTES = 65_535;
/** The longest value, in bytes. */
export const MAX_VALUE_BYTES: number = 64 << 20;

/** What a key or value may be given as; a string stands for its UTF-8 bytes. */
export type Bytes = string | Uint8Array;

/** How keys or values come back. */
export type Encoding = "utf8" | "binary";

/** The type of a key or value in an encoding. */
export type Decoded<E extends Encoding> = E extends "utf8" ? string : Uint8Array;
/** The longest batch, in packed bytes: keys, values, and up to 13 bytes an operation. */
export const MAX_BATCH_BYTES: number = 128 << 20;

const DELETE = 0;
const PUT = 1;
/** The bytes that a length takes, where it is no varint. */
const FIXED = 4;
/** Up to here a loop is faster than a call that copies or encodes. */
const SHORT = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Fills a buffer that grows. */
export class Packer {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(256);
  #length = 0;

  /** Bytes packed so far. */
  get length(): number {
    return this.#length;
  }

  /** Forgets what was packed after `length`. */
  truncate(length: number): void {
    this.#length = length;
  }

  put(keyspace: number, key: Bytes, value: Bytes): void {
    this.#operation(PUT, keyspace, key);
    this.#string("value", value, MAX_VALUE_BYTES);
  }

  delete(keyspace: number, key: Bytes): void {
    this.#operation(DELETE, keyspace, key);
  }

  key(key: Bytes): void {
    this.#string("key", key, MAX_KEY_BYTES, FIXED);
  }

  /** An end of a range, of which `names` are the two options. */
  end(names: string, included: Bytes | undefined, excluded: Bytes | undefined): void {
    if (included !== undefined && excluded !== undefined) {
      throw new InvalidArgumentError(`range: expected one of ${names}, found both`);
    }
    this.#reserve(1);
    const key = included ?? excluded;
    this.#bytes[this.#length++] = key === undefined ? 0 : included === undefined ? 2 : 1;
    if (key !== undefined) this.key(key);
  }

  /** What was packed, as a view of the packer's buffer. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #operation(kind: number, keyspace: number, key: Bytes): void {
    this.#reserve(6);
    this.#bytes[this.#length++] = kind;
    this.#length = putVarint(this.#bytes, this.#length, keyspace);
    this.#string("key", key, MAX_KEY_BYTES);
  }

  /** Appends a byte string behind its length, which takes `head` bytes or is a varint. */
  #string(what: string, content: Bytes, limit: number, head?: number): void {
    this.#reserve(8 + room(what, content, limit));
    const at = this.#length;
    // Text has at least a byte for each character, and mostly that.
    const start = at + (head ?? varintBytes(content.length));
    const length = write(what, content, limit, this.#bytes, start);
    this.#length = start + length;
    if (head === undefined) this.#varint(at, start, length);
    else for (let i = 0; i < head; i++) this.#bytes[at + i] = length >>> (8 * i);
  }

  /** Writes the varint `length` at `at`, before as many bytes that lie at `start`. */
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
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.bytes());
    this.#bytes = grown;
  }
}

/** The most bytes that a byte string may take; refuses what is none, or surely too long. */
export function room(what: string, content: Bytes, limit: number): number {
  const isText = typeof content === "string";
  check(what, content, isText || isBytes(content), "a string or a Uint8Array");
  checkLength(what, content.length, limit);
  return (isText ? 3 : 1) * content.length;
}

/** Writes a byte string at `start`, where there is room; returns how many bytes it takes. */
export function write(
  what: string,
  content: Bytes,
  limit: number,
  bytes: Uint8Array,
  start: number,
): number {
  const { length } = content;
  if (typeof content !== "string") {
    if (length > SHORT) bytes.subarray(start, start + length).set(content);
    else for (let i = 0; i < length; i++) bytes[start + i] = content[i] as number;
    return length;
  }
  let i = 0;
  for (; i < length && length <= SHORT; i++) {
    const code = content.charCodeAt(i);
    if (code >= 0x80) break;
    bytes[start + i] = code;
  }
  if (i === length) return i;
  // A lone surrogate would become U+FFFD, and two keys one.
  if (content.isWellFormed?.() === false) {
    throw new InvalidArgumentError(`${what}: expected well-formed text, found a lone surrogate`);
  }
  const { written } = encoder.encodeInto(content, bytes.subarray(start));
  checkLength(what, written, limit);
  return written;
}

function varintBytes(value: number): number {
  let bytes = 1;
  while ((value >>>= 7) > 0) bytes += 1;
  return bytes;
}

/** Writes a varint, seven bits a byte, the lowest first; returns where it ends. */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value >= 0x80) {
    bytes[at++] = value | 0x80;
    value >>>= 7;
  }
  bytes[at++] = value;
  return at;
}

/** Bounds of an iteration; of `gte` and `gt`, and of `lte` and `lt`, at most one. */
export interface RangeOptions {
  /** The first key, included. */
  gte?: Bytes | undefined;
  /** The first key, excluded. */
  gt?: Bytes | undefined;
  /** The last key, included. */
  lte?: Bytes | undefined;
  /** The last key, excluded. */
  lt?: Bytes | undefined;
}

/** Packs the bounds of a range. */
export function packRange({ gte, gt, lte, lt }: RangeOptions): Uint8Array<ArrayBuffer> {
  const packer = new Packer();
  packer.end("gte and gt", gte, gt);
  packer.end("lte and lt", lte, lt);
  return packer.bytes();
}

/** The bytes of a key. */
export function packKey(key: Bytes): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(room("key", key, MAX_KEY_BYTES));
  return bytes.subarray(0, write("key", key, MAX_KEY_BYTES, bytes, 0));
}

/** Bytes in the form that the caller wants. */
export function decode<E extends Encoding>(bytes: Uint8Array, encoding: E): Decoded<E> {
  if (encoding === "binary") return bytes as Decoded<E>;
  try {
    return decoder.decode(bytes) as Decoded<E>;
  } catch (cause) {
    throw new InvalidArgumentError(
      `encoding: expected UTF-8, found ${bytes.length} bytes that are not; read them as "binary"`,
      { cause },
    );
  }
}
