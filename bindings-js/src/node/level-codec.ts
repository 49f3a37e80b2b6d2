/** Keys and values as Level has them: text or bytes. Text that is not well-formed is changed, as by every Level. */

import { ByteList } from "../codec/byte-list.ts";
import { decodeList as decodeStrictly } from "../codec/decode-list.ts";

/** A key or a value. */
export type Content = string | Uint8Array;

/** A key and its value, as far as they were asked for. */
export type Row = [key: Content | undefined, value: Content | undefined];

/** The bounds of a range, at most one at each end. */
export interface LevelRange {
  gt?: Content;
  gte?: Content;
  lt?: Content;
  lte?: Content;
}

const BOUNDS = ["gt", "gte", "lt", "lte"] as const;

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns text without lone surrogates, which UTF-8 does not have. */
export function wellFormed(content: Content): Content {
  return typeof content === "string" ? content.toWellFormed() : content;
}

/** Returns a range with bounds that are well-formed. */
export function wellFormedRange(range: LevelRange): LevelRange {
  const found: LevelRange = {};
  for (const name of BOUNDS) {
    const bound = range[name];
    if (bound !== undefined) found[name] = wellFormed(bound);
  }
  return found;
}

/** Decodes a list of byte strings; what is missing is undefined. */
export function decodeList(
  bytes: Uint8Array,
  encoding: "utf8" | "binary",
  at = 0,
): (Content | undefined)[] {
  return decode(new ByteList(bytes, at), encoding);
}

/** Decodes the rows of a page, which has their keys or values or both. */
export function decodeRows(
  page: Uint8Array,
  keys: "utf8" | "binary" | undefined,
  values: "utf8" | "binary" | undefined,
): Row[] {
  const first = new ByteList(page);
  if (keys === undefined) {
    return values === undefined ? [] : decode(first, values).map((value) => [undefined, value]);
  }
  const found = decode(first, keys);
  if (values === undefined) return found.map((key) => [key, undefined]);
  const valueList = decodeList(page, values, first.end);
  return found.map((key, at) => [key, valueList[at]]);
}

function decode(list: ByteList, encoding: "utf8" | "binary"): (Content | undefined)[] {
  try {
    return decodeStrictly(list, encoding);
  } catch {
    return decodeStrictly(list, "binary").map((bytes) => decodeLeniently(bytes, encoding));
  }
}

/** Decodes bytes; as text, sequences that are not UTF-8 become U+FFFD. */
export function decodeLeniently(
  bytes: Uint8Array | undefined,
  encoding: "utf8" | "binary",
): Content | undefined {
  return encoding === "utf8" ? decodeText(bytes) : bytes;
}

/** Decodes text. */
export function decodeText(bytes: Uint8Array | undefined): string | undefined {
  return bytes && lenient.decode(bytes);
}
