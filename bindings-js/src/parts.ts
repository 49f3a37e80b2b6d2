/** What an iteration gives of each entry, and the pages in which entries come. */

import { type Decoded, decode, type Encoding, unpack } from "./packing.ts";

/** A page's size: the first is small, so that it comes soon. */
export const FIRST_PAGE_BYTES: number = 16 << 10;
export const PAGE_BYTES: number = 256 << 10;
/** An entry as an iteration gives it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** What an iteration gives of each entry, and how it lies in a page. */
export interface Part<T> {
  keys: boolean;
  values: boolean;
  read(page: Uint8Array): Iterable<T>;
}

/** Keys alone, or values alone. */
export function single<E extends Encoding>(of: "keys" | "values", encoding: E): Part<Decoded<E>> {
  return {
    keys: of === "keys",
    values: of === "values",
    *read(page) {
      for (const bytes of unpack(page)) yield decode(bytes as Uint8Array, encoding);
    },
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
    *read(page) {
      const strings = unpack(page) as Uint8Array[];
      for (let i = 0; i < strings.length; i += 2) {
        const [key, value] = [strings[i], strings[i + 1]] as [Uint8Array, Uint8Array];
        yield [decode(key, keyEncoding), decode(value, valueEncoding)];
      }
    },
  };
}
