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
  /**
   * Returns the rows of the page at `at`, whose bytes may change after that. Iterating throws at the first row that
   * does not decode, not before.
   */
  decode(page: Uint8Array, at?: number): Iterable<T>;
}

/** The rows of a page before they are decoded. */
interface Encoded<T> {
  size: number;
  /** The end of the page in its buffer. */
  end: number;
  decode(from: number, to: number): T[];
}

/** Keys only, or values only. */
export function single<E extends Encoding>(
  column: "keys" | "values",
  encoding: E,
): Projection<Decoded<E>> {
  return {
    keys: column === "keys",
    values: column === "values",
    decode: rows([encoding], (page, at) => {
      const list = new ByteList(page, at);
      const decode = (from: number, to: number) =>
        decodeList(list, encoding, from, to) as Decoded<E>[];
      return { size: list.size, end: list.end, decode };
    }),
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
    decode: rows([keyEncoding, valueEncoding], (page, at) => {
      const keyList = new ByteList(page, at);
      const valueList = new ByteList(page, keyList.end);
      const decode = (from: number, to: number): Entry<K, V>[] => {
        const keys = decodeList(keyList, keyEncoding, from, to) as Decoded<K>[];
        const values = decodeList(
          valueList,
          valueEncoding,
          from,
          to,
          (at) => keyList.at(at) as Uint8Array,
        ) as Decoded<V>[];
        return keys.map((key, at) => [key, values[at] as Decoded<V>]);
      };
      return { size: keyList.size, end: valueList.end, decode };
    }),
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

/**
 * Decodes the rows of a page together, which is faster, or one by one where that fails. What calls the module in
 * between changes its memory: then rows are decoded from a copy of a page that lies there, which has an address.
 */
function rows<T>(
  encodings: readonly Encoding[],
  encoded: (page: Uint8Array, at: number) => Encoded<T>,
): (page: Uint8Array, at?: number) => Iterable<T> {
  const mayCall = encodings.some((encoding) => typeof encoding === "object");
  return (page, at = 0) => {
    const inPlace = encoded(page, at);
    const copied = () => (at === 0 ? inPlace : encoded(page.slice(at, inPlace.end), 0));
    const first = mayCall ? copied() : inPlace;
    try {
      return first.decode(0, first.size);
    } catch {
      return oneByOne(mayCall ? first : copied());
    }
  };
}

function* oneByOne<T>({ size, decode }: Encoded<T>): Generator<T, void, undefined> {
  for (let at = 0; at < size; at++) yield* decode(at, at + 1);
}
