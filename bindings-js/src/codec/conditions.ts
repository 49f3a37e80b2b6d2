/**
 * Conditions of a batch as the engine reads them, its outcome, and values with their versions.
 *
 * - A condition is a byte for its kind and the keyspace, then by kind: 0 absent and 1 present, the key; 2 version,
 *   the key and its sequence number; 3 value, the key and the value; 4 unchanged, the snapshot and the range.
 * - An outcome is a sequence number or, if the batch was refused, 0 and its conflicts (conflicts.ts).
 * - Sequence numbers and times are doubles, little-endian.
 */

import type { Decoded, Encoding, RangeFields, Versioned } from "../api/data.ts";
import type { Condition, Mode } from "../api/store.ts";
import { decode } from "./bytes.ts";
import { Encoder } from "./encoder.ts";
import { toBytes } from "./encodings.ts";
import { checkFields, RANGE } from "./options.ts";
import { encodeRange } from "./span.ts";
import { check, invalid } from "./validate.ts";

const ABSENT = 0;
const PRESENT = 1;
const VERSION = 2;
const VALUE = 3;
const UNCHANGED = 4;
const DOUBLE = 8;

/** The encodings of a keyspace, in which a conflict reports what was found. */
export interface Encodings {
  readonly keyEncoding: Encoding;
  readonly valueEncoding: Encoding;
}

/** A keyspace as the engine knows it, with its encodings. */
export interface Named extends Encodings {
  readonly keyspace: number;
}

/** Returns what the engine knows keyspaces and snapshots by; undefined for those of another store. */
export interface Names {
  keyspace(keyspace: unknown): Named | undefined;
  snapshot(snapshot: unknown): number | undefined;
}

const ON_RANGE = { keyspace: 0, unchangedSince: 0 };
const ON_KEY = { keyspace: 0, key: 0, exists: 0, sequence: 0, value: 0 };

/** All fields of conditions. */
type Fields = RangeFields<Encoding> & {
  keyspace?: unknown;
  key?: unknown;
  exists?: unknown;
  sequence?: unknown;
  value?: unknown;
  unchangedSince?: unknown;
};

/** Encodes conditions on keyspace `own`, or on those that they name. Also returns the encodings of each. */
export function encodeConditions<M extends Mode>(
  conditions: Iterable<Condition<M, Encoding, Encoding>>,
  own: Named,
  names: Names,
): { bytes: Uint8Array<ArrayBuffer>; encodings: Encodings[] } {
  const iterable = typeof conditions?.[Symbol.iterator] === "function";
  check("if", conditions, iterable, "an array of conditions");
  const encoder = new Encoder();
  const encodings: Encodings[] = [];
  for (const condition of conditions) {
    const isObject = typeof condition === "object" && condition !== null;
    check("if", condition, isObject, "conditions that are objects");
    const fields = condition as Fields;
    const isOnKey = fields.unchangedSince === undefined;
    checkFields("if", fields, ...(isOnKey ? [ON_KEY] : [ON_RANGE, RANGE]));
    encodings.push(encodeCondition(encoder, fields, own, names));
  }
  return { bytes: encoder.bytes(), encodings };
}

function encodeCondition(
  encoder: Encoder,
  { keyspace, key, exists, sequence, value, unchangedSince, ...range }: Fields,
  own: Named,
  names: Names,
): Encodings {
  const named = keyspace === undefined ? own : names.keyspace(keyspace);
  if (named === undefined) throw invalid("if", "keyspaces of this store", keyspace);
  const number = named.keyspace;
  const given = [exists, sequence, value, unchangedSince].filter((field) => field !== undefined);
  const expected = "one of exists, sequence, value and unchangedSince in each condition";
  check("if", given.length, given.length === 1, expected);
  if (unchangedSince !== undefined) {
    const snapshot = names.snapshot(unchangedSince);
    if (snapshot === undefined) throw invalid("if", "snapshots of this store", unchangedSince);
    encodeUnchanged(encoder, number, snapshot, encodeRange(range, named.keyEncoding));
    return named;
  }
  // Not left to the encoder: a key that is missing would make it a condition on a range.
  if (key === undefined) throw invalid("key", "a string, a view or an ArrayBuffer", key);
  const bytes = toBytes("key", key, named.keyEncoding);
  if (exists !== undefined) {
    check("exists", exists, typeof exists === "boolean", "true or false");
    encoder.condition(exists === true ? PRESENT : ABSENT, number, bytes);
  } else if (sequence !== undefined) {
    check("sequence", sequence, Number.isSafeInteger(sequence), "an integer");
    encoder.condition(VERSION, number, bytes);
    encoder.double(sequence as number);
  } else {
    encoder.condition(VALUE, number, bytes);
    encoder.value(toBytes("value", value, named.valueEncoding));
  }
  return named;
}

/** Encodes the condition that no key of an encoded range was written since a snapshot. */
export function encodeUnchanged(
  encoder: Encoder,
  keyspace: number,
  snapshot: number,
  range: Uint8Array,
): void {
  encoder.condition(UNCHANGED, keyspace);
  encoder.varint(snapshot);
  encoder.varint(range.length);
  encoder.add(range);
}

/** Returns the sequence number of a batch that was written; undefined if it was refused. */
export function decodeOutcome(bytes: Uint8Array): number | undefined {
  const sequence = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
  return sequence > 0 || bytes.length === DOUBLE ? sequence : undefined;
}

/** Decodes a value with its version; undefined if there is none. */
export function decodeVersioned<E extends Encoding>(
  bytes: Uint8Array,
  encoding: E,
  key: () => Uint8Array,
): Versioned<E> | undefined {
  if (bytes.length === 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const sequence = view.getFloat64(0, true);
  const expiresAt = view.getFloat64(DOUBLE, true) || undefined;
  // Bytes of a copy of their own: whoever keeps them keeps nothing else.
  const value: Decoded<E> = decode(
    (bytes as Uint8Array<ArrayBuffer>).slice(2 * DOUBLE),
    encoding,
    key,
  );
  return { value, sequence, expiresAt };
}
