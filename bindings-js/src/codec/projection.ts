/**
 * Projections: the parts of each entry that an iteration returns, and their decoding from a page.
 */

import type { Decoded, Encoding, Entry, Row, Rows } from "../api/data.ts";
import { ByteList } from "./byte-list.ts";
import { decodeList } from "./decode-list.ts";
import { check } from "./validate.ts";

/** The size of a page in bytes: the first is small, so that it arrives soon. */
export const FIRST_PAGE_BYTES: number = 16 << 10;
export const PAGE_BYTES: number = 256 << 10;

/** Parts of a page, keys before values, and their decoding. */
export interface Projection<T> {
  keys: boolean;
  values: boolean;
  /** Returns the rows of a page; iterating throws at the first that does not decode, not before. */
  decode(page: Uint8Array): Iterable<T>;
}

/** Keys only, or values only. */
export function single<E extends Encoding>(
  column: "keys" | "values",
  encoding: E,
): Projection<Decoded<E>> {
  return {
    keys: column === "keys",
    values: column === "values",
    decode(page) {
      const list = new ByteList(page);
      return rows(list.size, (from, to) => decodeList(list, encoding, from, to) as Decoded<E>[]);
    },
  };
}

/** Keys with their values. */
export function pairs<K extends Encoding, V extends Encoding>(
  keyEncoding: K,
  valueEncoding: V,
): Projection<Entry<K, V>> {
  return {
    keys: true,
    values: true,
    decode(page) {
      const keyList = new ByteList(page);
      const valueList = new ByteList(page, keyList.end);
      return rows(keyList.size, (from, to) => {
        const keys = decodeList(keyList, keyEncoding, from, to) as Decoded<K>[];
        const values = decodeList(
          valueList,
          valueEncoding,
          from,
          to,
          (at) => keyList.at(at) as Uint8Array,
        ) as Decoded<V>[];
        return keys.map((key, at) => [key, values[at] as Decoded<V>]);
      });
    },
  };
}

/** Entries, or keys or values alone. */
export function projectionOf<R extends Rows, K extends Encoding, V extends Encoding>(
  rows: Rows | undefined = "entries",
  keyEncoding: K,
  valueEncoding: V,
): Projection<Row<R, K, V>> {
  const valid = rows === "entries" || rows === "keys" || rows === "values";
  check("rows", rows, valid, '"entries", "keys" or "values"');
  const projection =
    rows === "entries"
      ? pairs(keyEncoding, valueEncoding)
      : single(rows, rows === "keys" ? keyEncoding : valueEncoding);
  return projection as Projection<Row<R, K, V>>;
}

/** Decodes the rows of a page together, which is faster, or one by one where that fails. */
function rows<T>(size: number, decode: (from: number, to: number) => T[]): Iterable<T> {
  try {
    return decode(0, size);
  } catch {
    return oneByOne(size, decode);
  }
}

function* oneByOne<T>(
  size: number,
  decode: (from: number, to: number) => T[],
): Generator<T, void, undefined> {
  for (let at = 0; at < size; at++) yield* decode(at, at + 1);
}
