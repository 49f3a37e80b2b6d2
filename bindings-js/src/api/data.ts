/** Keys, values, entries and ranges. */

/** Bytes as you pass them: any view or buffer; a string stands for its UTF-8 bytes. */
export type Bytes = string | ArrayBufferView | ArrayBuffer;

/** An encoding of your own: the bytes that stand for a key or a value, and back. */
export interface Codec<T> {
  /** Returns the bytes, at most as many as a key or a value may have. The order of keys is that of their bytes. */
  encode(value: T): Bytes;
  /** Returns what the bytes stand for. Copy the bytes if you keep them: they may be part of a larger buffer. */
  decode(bytes: Uint8Array<ArrayBuffer>): T;
}

/**
 * Form of keys or values: `"utf8"` and `"binary"` take bytes and strings, and return strings or bytes; `"json"` takes
 * and returns what JSON can express, whose order as keys is that of the text; or an encoding of your own.
 */
export type Encoding = "utf8" | "binary" | "json" | Codec<any>;

/** The type of a key or a value that is returned in an encoding. */
export type Decoded<E extends Encoding> = E extends "utf8"
  ? string
  : E extends "binary"
    ? Uint8Array<ArrayBuffer>
    : E extends Codec<infer T>
      ? T
      : any;

/** The type of a key or a value that is passed in an encoding. */
export type Encodable<E extends Encoding> = E extends "utf8" | "binary"
  ? Bytes
  : E extends Codec<infer T>
    ? T
    : any;

/** An entry as an iteration yields it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** A value and its version. */
export interface Versioned<V extends Encoding> {
  value: Decoded<V>;
  /** The sequence number of the write that set it. */
  sequence: number;
  /** The time at which it expires, in milliseconds since the epoch; undefined if it does not. */
  expiresAt: number | undefined;
}

/**
 * The operand of a merge: a number to add (`add`), an upper bound (`min` keeps the lesser of the value and the number),
 * or a lower bound (`max` keeps the greater). It is a safe integer or a signed 64-bit bigint.
 */
export type Operand =
  | { add: number | bigint; min?: undefined; max?: undefined }
  | { min: number | bigint; add?: undefined; max?: undefined }
  | { max: number | bigint; add?: undefined; min?: undefined };

/** Parts of entries that a cursor returns. */
export type Rows = "entries" | "keys" | "values";

/** An entry, its key or its value. */
export type Row<R extends Rows, K extends Encoding, V extends Encoding> = R extends "keys"
  ? Decoded<K>
  : R extends "values"
    ? Decoded<V>
    : Entry<K, V>;

export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./limits.ts";

/** The fields of ranges. */
export interface RangeFields<K extends Encoding = "utf8"> {
  /** Start of all keys of the range, as bytes; excludes bounds. */
  prefix?: Encodable<K> | undefined;
  /** The lower bound, inclusive. */
  gte?: Encodable<K> | undefined;
  /** The lower bound, exclusive. */
  gt?: Encodable<K> | undefined;
  /** The upper bound, inclusive. */
  lte?: Encodable<K> | undefined;
  /** The upper bound, exclusive. */
  lt?: Encodable<K> | undefined;
}

/** A range with some of the fields, and none of the others. */
export type RangeOf<K extends Encoding, F extends keyof RangeFields> = Pick<RangeFields<K>, F> & {
  [G in Exclude<keyof RangeFields, F>]?: undefined;
};

/** A range: a prefix, or bounds, at most one of `gte` and `gt`, and at most one of `lte` and `lt`. */
export type RangeOptions<K extends Encoding = "utf8"> =
  | RangeOf<K, "prefix">
  | RangeOf<K, "gte" | "lte">
  | RangeOf<K, "gte" | "lt">
  | RangeOf<K, "gt" | "lte">
  | RangeOf<K, "gt" | "lt">;
