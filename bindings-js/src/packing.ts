/**
 * Keys, values and batches in one buffer each, so that a message copies nothing twice.
 *
 * - A byte string is its length (unsigned 32 bits, little-endian), then its bytes.
 * - Keys are byte strings one after the other; a page is keys and values in turn.
 * - Values looked up are byte strings too, where the length 0xFFFFFFFF says that there is none.
 * - A batch is operations: a byte 1, key and value for a put; a byte 0 and a key for a delete.
 */

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
/** The longest batch, in packed bytes: keys, values, and up to nine bytes an operation. */
export const MAX_BATCH_BYTES: number = 128 << 20;

const DELETE = 0;
const PUT = 1;
const MISSING = 0xffff_ffff;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Fills a buffer that grows. */
export class Packer {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(256);
  #view: DataView = new DataView(this.#bytes.buffer);
  #length = 0;

  /** Bytes packed so far. */
  get length(): number {
    return this.#length;
  }

  /** Forgets what was packed after `length`. */
  truncate(length: number): void {
    this.#length = length;
  }

  put(key: Bytes, value: Bytes): void {
    this.#byte(PUT);
    this.key(key);
    this.#string("value", value, MAX_VALUE_BYTES);
  }

  delete(key: Bytes): void {
    this.#byte(DELETE);
    this.key(key);
  }

  key(key: Bytes): void {
    this.#string("key", key, MAX_KEY_BYTES);
  }

  /** What was packed. The packer must not be used after. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length] = byte;
    this.#length += 1;
  }

  #string(what: string, content: Bytes, limit: number): void {
    const start = this.#length + 4;
    let length: number;
    if (typeof content === "string") {
      checkWellFormed(what, content);
      checkLength(what, content.length, limit);
      this.#reserve(4 + 3 * content.length);
      length = encoder.encodeInto(content, this.#bytes.subarray(start)).written;
      checkLength(what, length, limit);
    } else if (content instanceof Uint8Array) {
      length = content.length;
      checkLength(what, length, limit);
      this.#reserve(4 + length);
      this.#bytes.set(content, start);
    } else {
      throw new InvalidArgumentError(
        `${what}: expected a string or a Uint8Array, found ${describe(content)}`,
      );
    }
    this.#view.setUint32(this.#length, length, true);
    this.#length = start + length;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** All byte strings of a buffer, as views; undefined for each that says that there is none. */
export function unpack(bytes: Uint8Array): (Uint8Array | undefined)[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const strings: (Uint8Array | undefined)[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at, true);
    at += 4;
    if (length === MISSING) {
      strings.push(undefined);
    } else {
      strings.push(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return strings;
}

/** Copies bytes out of a buffer, in the form that the caller wants. */
export function decode<E extends Encoding>(bytes: Uint8Array, encoding: E): Decoded<E> {
  if (encoding === "binary") return bytes.slice() as Decoded<E>;
  try {
    return decoder.decode(bytes) as Decoded<E>;
  } catch (cause) {
    throw new InvalidArgumentError(
      `encoding: expected UTF-8, found ${bytes.length} bytes that are not; read them as "binary"`,
      { cause },
    );
  }
}

/** A key alone, checked and encoded. */
export function encodeKey(key: Bytes): Uint8Array {
  const packer = new Packer();
  packer.key(key);
  return packer.bytes().slice(4);
}

/** Refuses what is too long. */
export function checkLength(what: string, found: number, limit: number): void {
  if (found > limit) {
    throw new InvalidArgumentError(`${what}: expected at most ${limit} bytes, found ${found}`);
  }
}

/** A lone surrogate would become U+FFFD, and two keys one. */
function checkWellFormed(what: string, text: string): void {
  if (text.isWellFormed?.() === false) {
    throw new InvalidArgumentError(`${what}: expected well-formed text, found a lone surrogate`);
  }
}

/** An argument's type in words. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return value.constructor?.name ?? "an object";
}
