/** What an iteration gives of each entry, and the pages in which entries come. */

import type { Decoded, Encoding } from "./packing.ts";
import { Strings } from "./strings.ts";

/** A page's size: the first is small, so that it comes soon. */
export const FIRST_PAGE_BYTES: number = 16 << 10;
export const PAGE_BYTES: number = 256 << 10;
/** An entry as an iteration gives it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** What an iteration gives of each entry, and how to read it from a page: keys, then values. */
export interface Part<T> {
  keys: boolean;
  values: boolean;
  read(page: Uint8Array): T[];
}

/** Keys alone, or values alone. */
export function single<E extends Encoding>(of: "keys" | "values", encoding: E): Part<Decoded<E>> {
  return {
    keys: of === "keys",
    values: of === "values",
    read: (page) => new Strings(page).read(encoding) as Decoded<E>[],
  };
}

/** Keys with their values. */
export function pairs<K extends Encoding, V extends Encoding>(
  keyEncoding: K,
  valueEncoding: V,
): Part<Entry<K, V>> {
  return {
    keys: true,
    values: true,
    read(page) {
      const keyList = new Strings(page);
      const keys = keyList.read(keyEncoding) as Decoded<K>[];
      const values = new Strings(page, keyList.end).read(valueEncoding) as Decoded<V>[];
      return keys.map((key, at) => [key, values[at] as Decoded<V>]);
    },
  };
}
