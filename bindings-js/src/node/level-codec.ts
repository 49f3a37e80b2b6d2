/** Keys and values as Level has them: text or bytes. Text that is not well-formed is changed, as by every Level. */

import { ByteList } from "../codec/byte-list.ts";
import { decodeList as decodeStrictly } from "../codec/decode-list.ts";

/** A key or a value. */
export type Content = string | Uint8Array;

/** The bounds of a range, at most one at each end. */
export interface LevelRange {
  gt?: Content;
  gte?: Content;
  lt?: Content;
  lte?: Content;
}

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns text without lone surrogates, which UTF-8 does not have. */
export function wellFormed(content: Content): Content {
  return typeof content === "string" ? content.toWellFormed() : content;
}

/** Returns a range with bounds that are well-formed. */
export function wellFormedRange(range: LevelRange): LevelRange {
  return Object.fromEntries(
    Object.entries(range).map(([name, bound]) => [name, wellFormed(bound as Content)]),
  );
}

/** Decodes a list of byte strings; what is missing is undefined. */
export function decodeList(
  bytes: Uint8Array,
  encoding: "utf8" | "binary",
  at = 0,
): (Content | undefined)[] {
  return decode(new ByteList(bytes, at), encoding);
}

/** Decodes the keys and the values of a page, as far as it has them. */
export function decodePage(
  page: Uint8Array,
  keys: "utf8" | "binary" | undefined,
  values: "utf8" | "binary" | undefined,
): [keys: (Content | undefined)[] | undefined, values: (Content | undefined)[] | undefined] {
  const first = new ByteList(page);
  if (keys === undefined) return [undefined, values && decode(first, values)];
  return [decode(first, keys), values && decodeList(page, values, first.end)];
}

function decode(list: ByteList, encoding: "utf8" | "binary"): (Content | undefined)[] {
  try {
    return decodeStrictly(list, encoding);
  } catch {
    return decodeStrictly(list, "binary").map((bytes) => decodeLeniently(bytes, encoding));
  }
}

/** Decodes bytes; sequences that are not UTF-8 become U+FFFD. */
export function decodeLeniently(
  bytes: Uint8Array | undefined,
  encoding: "utf8" | "binary",
): Content | undefined {
  return bytes && encoding === "utf8" ? lenient.decode(bytes) : bytes;
}
