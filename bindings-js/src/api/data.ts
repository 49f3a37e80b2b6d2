/** Keys, values, entries and ranges. */

/** A key or a value as you pass it; a string stands for its UTF-8 bytes. */
export type Bytes = string | Uint8Array;

/** Form in which keys or values are returned. */
export type Encoding = "utf8" | "binary";

/** The type of a key or a value in an encoding. */
export type Decoded<E extends Encoding> = E extends "utf8" ? string : Uint8Array;

/** An entry as an iteration yields it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** Parts of entries that a cursor returns. */
export type Rows = "entries" | "keys" | "values";

/** An entry, its key or its value. */
export type Row<R extends Rows, K extends Encoding, V extends Encoding> = R extends "keys"
  ? Decoded<K>
  : R extends "values"
    ? Decoded<V>
    : Entry<K, V>;

export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./limits.ts";

/** A range: a prefix, or bounds, at most one of `gte` and `gt`, and at most one of `lte` and `lt`. */
export interface RangeOptions {
  /** The bytes that all keys of the range start with; excludes bounds. */
  prefix?: Bytes | undefined;
  /** The lower bound, inclusive. */
  gte?: Bytes | undefined;
  /** The lower bound, exclusive. */
  gt?: Bytes | undefined;
  /** The upper bound, inclusive. */
  lte?: Bytes | undefined;
  /** The upper bound, exclusive. */
  lt?: Bytes | undefined;
}
