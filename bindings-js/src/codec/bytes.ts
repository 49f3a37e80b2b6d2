/** Single keys and values: strings to bytes and back. */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { check, checkLength, checkPresent, isBytes, isWellFormed } from "./validate.ts";

/** Up to this length a loop is faster than a call that copies or encodes. */
const SHORT = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the most bytes that a byte string may take; rejects other types, and what is too long. */
export function maxByteLength(what: string, content: Bytes, limit: number): number {
  const isText = typeof content === "string";
  check(what, content, isText || isBytes(content), "a string or a Uint8Array");
  if (!isText) checkPresent(what, content as Uint8Array);
  checkLength(what, content.length, limit);
  return (isText ? 3 : 1) * content.length;
}

/** Writes a byte string at `start`, where it must fit; returns its length. */
export function encodeInto(
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
  if (!isWellFormed(content)) {
    throw new InvalidArgumentError(`${what}: expected well-formed text, found a lone surrogate`);
  }
  const { written } = encoder.encodeInto(content, bytes.subarray(start));
  checkLength(what, written, limit);
  return written;
}

/** Encodes a single byte string. */
export function encodeBytes(what: string, content: Bytes, limit: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(maxByteLength(what, content, limit));
  return bytes.subarray(0, encodeInto(what, content, limit, bytes, 0));
}

/** Encodes a single key. */
export function encodeKey(key: Bytes): Uint8Array<ArrayBuffer> {
  return encodeBytes("key", key, MAX_KEY_BYTES);
}

/** Decodes a key or a value; bytes that are not UTF-8 are never turned into a string. */
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
