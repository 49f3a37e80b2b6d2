/**
 * Conditions of a batch as the engine reads them, its outcome, and values with their versions.
 *
 * - A condition is a byte for its kind and the keyspace, then by kind: 0 absent and 1 present, the key; 2 version,
 *   the key and its sequence number; 3 value, the key and the value; 4 unchanged, the snapshot and the range.
 * - An outcome is a sequence number or, if the batch was refused, 0, the number of conditions that failed, for each
 *   of these its index and the sequence number found, a list of the keys, and one of the values.
 * - The number of conditions is an unsigned integer of 32 bits, little-endian. Sequence numbers and indices are
 *   doubles.
 */

import type { Bytes, Decoded, Encoding, RangeOptions } from "../api/data.ts";
import { type Conflict, ConflictError } from "../api/errors.ts";
import type { Condition, Mode, Versioned } from "../api/store.ts";
import { ByteList } from "./byte-list.ts";
import { decode } from "./bytes.ts";
import { Encoder, encodeRange } from "./encoder.ts";
import { check, invalid } from "./validate.ts";

const ABSENT = 0;
const PRESENT = 1;
const VERSION = 2;
const VALUE = 3;
const UNCHANGED = 4;
const DOUBLE = 8;

/** Returns the numbers by which the engine knows keyspaces and snapshots; undefined for those of another store. */
export interface Numbers {
  keyspace(keyspace: unknown): number | undefined;
  snapshot(snapshot: unknown): number | undefined;
}

/** All fields of conditions. */
type Fields = RangeOptions & {
  keyspace?: unknown;
  key?: Bytes;
  exists?: unknown;
  sequence?: unknown;
  value?: Bytes;
  unchangedSince?: unknown;
};

/** Encodes conditions on the keyspace with the number `own`, or on those that they name. */
export function encodeConditions<M extends Mode>(
  conditions: Iterable<Condition<M>>,
  own: number,
  numbers: Numbers,
): Uint8Array<ArrayBuffer> {
  const iterable = typeof conditions?.[Symbol.iterator] === "function";
  check("if", conditions, iterable, "an array of conditions");
  const encoder = new Encoder();
  for (const condition of conditions) {
    const isObject = typeof condition === "object" && condition !== null;
    check("if", condition, isObject, "conditions that are objects");
    encodeCondition(encoder, condition as Fields, own, numbers);
  }
  return encoder.bytes();
}

function encodeCondition(
  encoder: Encoder,
  { keyspace, key, exists, sequence, value, unchangedSince, ...range }: Fields,
  own: number,
  numbers: Numbers,
): void {
  const number = keyspace === undefined ? own : numbers.keyspace(keyspace);
  if (number === undefined) throw invalid("if", "keyspaces of this store", keyspace);
  const given = [exists, sequence, value, unchangedSince].filter((field) => field !== undefined);
  const expected = "one of exists, sequence, value and unchangedSince in each condition";
  check("if", given.length, given.length === 1, expected);
  if (unchangedSince !== undefined) {
    const snapshot = numbers.snapshot(unchangedSince);
    if (snapshot === undefined) throw invalid("if", "snapshots of this store", unchangedSince);
    encodeUnchangedRange(encoder, number, snapshot, encodeRange(range));
    return;
  }
  // Not left to the encoder: a key that is missing would make it a condition on a range.
  if (key === undefined) throw invalid("key", "a string or a Uint8Array", key);
  if (exists !== undefined) {
    check("exists", exists, typeof exists === "boolean", "true or false");
    encoder.condition(exists === true ? PRESENT : ABSENT, number, key);
  } else if (sequence !== undefined) {
    check("sequence", sequence, Number.isSafeInteger(sequence), "an integer");
    encoder.condition(VERSION, number, key);
    encoder.double(sequence as number);
  } else {
    encoder.condition(VALUE, number, key);
    encoder.value(value as Bytes);
  }
}

/** Encodes the condition that no key from `from` up to `to`, or to the end, was written since a snapshot. */
export function encodeUnchanged(
  encoder: Encoder,
  keyspace: number,
  snapshot: number,
  from: Uint8Array,
  to: Uint8Array | undefined,
): void {
  const range = new Encoder();
  range.exactBound(true, from);
  range.exactBound(false, to);
  encodeUnchangedRange(encoder, keyspace, snapshot, range.bytes());
}

function encodeUnchangedRange(
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

/** Returns the sequence number of a batch that was written; throws a `ConflictError` if it was refused. */
export function decodeOutcome(bytes: Uint8Array, encodings: Encodings): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const sequence = view.getFloat64(0, true);
  if (sequence > 0 || bytes.length === DOUBLE) return sequence;
  throw new ConflictError(decodeConflicts(bytes, view, encodings));
}

interface Encodings {
  keyEncoding: Encoding;
  valueEncoding: Encoding;
}

function decodeConflicts(
  bytes: Uint8Array,
  view: DataView,
  { keyEncoding, valueEncoding }: Encodings,
): Conflict[] {
  const count = view.getUint32(DOUBLE, true);
  const listsAt = DOUBLE + 4 + 2 * DOUBLE * count;
  const keys = new ByteList(bytes, listsAt);
  const values = new ByteList(bytes, keys.end).decode(valueEncoding);
  return keys.decode(keyEncoding).map((key, i) => {
    const at = DOUBLE + 4 + 2 * DOUBLE * i;
    const sequence = view.getFloat64(at + DOUBLE, true) || undefined;
    return { condition: view.getFloat64(at, true), key: key as Bytes, value: values[i], sequence };
  });
}

/** Decodes a value with its version; undefined if there is none. */
export function decodeVersioned<E extends Encoding>(
  bytes: Uint8Array,
  encoding: E,
): Versioned<E> | undefined {
  if (bytes.length === 0) return undefined;
  const sequence = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
  // Bytes of a copy of their own: whoever keeps them keeps nothing else.
  const value: Decoded<E> = decode(bytes.slice(DOUBLE), encoding);
  return { value, sequence };
}
