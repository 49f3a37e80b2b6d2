/** Single keys and values: strings to bytes and back. */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { UTF8_MAX, writeAscii } from "./utf8.ts";
import {
  check,
  checkLength,
  checkPresent,
  isBytes,
  isBytesLike,
  isWellFormed,
} from "./validate.ts";

/** Up to this length a loop is faster than a call that copies or encodes. */
const SHORT = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns a byte string as text or bytes; rejects other types. */
export function toContent(what: string, content: Bytes): string | Uint8Array {
  if (typeof content === "string") return content;
  if (isBytes(content)) {
    checkPresent(what, content);
    return content;
  }
  check(what, content, isBytesLike(content), "a string, a view or an ArrayBuffer");
  try {
    if (!ArrayBuffer.isView(content)) return new Uint8Array(content);
    const bytes = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
    checkPresent(what, bytes);
    return bytes;
  } catch (cause) {
    throw new InvalidArgumentError(`${what}: expected bytes, found ${cause}`, { cause });
  }
}

/** Returns the most bytes that a byte string may take; rejects what is too long. */
export function maxByteLength(what: string, content: string | Uint8Array, limit: number): number {
  checkLength(what, content.length, limit);
  return (typeof content === "string" ? UTF8_MAX : 1) * content.length;
}

/** Writes a byte string at `start`, where it must fit; returns its length. */
export function encodeInto(
  what: string,
  content: string | Uint8Array,
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
  if (length <= SHORT && writeAscii(content, bytes, start) === length) return length;
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
  const text = toContent(what, content);
  const bytes = new Uint8Array(maxByteLength(what, text, limit));
  return bytes.subarray(0, encodeInto(what, text, limit, bytes, 0));
}

/** Encodes a single key. */
export function encodeKey(key: Bytes): Uint8Array<ArrayBuffer> {
  return encodeBytes("key", key, MAX_KEY_BYTES);
}

/** Whether an encoding is one of text, as JSON is. */
export function isText(encoding: Encoding): boolean {
  return encoding === "utf8" || encoding === "json";
}

/**
 * Decodes a key or a value; bytes that are not in the encoding are never turned into something else. An encoding of
 * text takes text as well as its bytes.
 */
export function decode<E extends Encoding>(
  bytes: Uint8Array<ArrayBuffer> | string,
  encoding: E,
  key?: () => Uint8Array,
): Decoded<E> {
  if (encoding === "binary") return bytes as Decoded<E>;
  try {
    if (typeof encoding === "object") return encoding.decode(bytes as Uint8Array<ArrayBuffer>);
    const text = typeof bytes === "string" ? bytes : decoder.decode(bytes);
    return (encoding === "json" ? JSON.parse(text) : text) as Decoded<E>;
  } catch (cause) {
    const what = key === undefined ? "encoding" : `value of ${nameOf(key())}`;
    const { length } = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
    const why =
      typeof encoding === "object"
        ? `expected what the encoding decodes, found ${length} bytes that it does not: ${cause}`
        : `expected ${encoding === "json" ? "JSON" : "UTF-8"}, found ${length} bytes that are not`;
    throw new InvalidArgumentError(`${what}: ${why}; read them as "binary"`, { cause });
  }
}

/** A key as text, or its bytes where it is none. */
function nameOf(key: Uint8Array): string {
  try {
    return JSON.stringify(decoder.decode(key));
  } catch {
    return `[${key.subarray(0, SHORT).join()}]`;
  }
}
