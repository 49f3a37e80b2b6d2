/** What an iteration returns of each entry, and how to decode it from a page of entries. */

import type { Decoded, Encoding, Entry } from "../api/data.ts";
import { ByteList } from "./byte-list.ts";

/** The size of a page in bytes: the first is small, so that it arrives soon. */
export const FIRST_PAGE_BYTES: number = 16 << 10;
export const PAGE_BYTES: number = 256 << 10;

/** What a page holds, keys before values, and how to decode it. */
export interface Projection<T> {
  keys: boolean;
  values: boolean;
  decode(page: Uint8Array): T[];
}

/** Keys only, or values only. */
export function single<E extends Encoding>(
  column: "keys" | "values",
  encoding: E,
): Projection<Decoded<E>> {
  return {
    keys: column === "keys",
    values: column === "values",
    decode: (page) => new ByteList(page).decode(encoding) as Decoded<E>[],
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
      const keys = keyList.decode(keyEncoding) as Decoded<K>[];
      const values = new ByteList(page, keyList.end).decode(valueEncoding) as Decoded<V>[];
      return keys.map((key, at) => [key, values[at] as Decoded<V>]);
    },
  };
}
