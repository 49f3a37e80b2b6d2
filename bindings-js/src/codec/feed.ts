/**
 * Pages of the change feed, as the engine returns them.
 *
 * - A page is one batch after another: its sequence number (a double), its length (unsigned 32 bits, little-endian) and
 *   its bytes.
 * - A batch is encoded as in the engine's WAL (encoder.ts), with the engine's ids of keyspaces.
 * - A keyspace that batches name stands before the first of them, with the number 0 in place of a batch: its id, and
 *   its name after the name's length.
 */

import type { Decoded, Encoding } from "../api/data.ts";
import type { ChangeOperation } from "../api/changes.ts";
import { decode } from "./bytes.ts";
import type { Span } from "./encoder.ts";
import { OPERAND } from "./operand.ts";

/** The size of a sequence number before a batch, and with the batch's length. */
const SEQUENCE_BYTES = 8;
const HEAD_BYTES = 12;
/** The number of an application's own operator. */
const CUSTOM = 255;
const EXPIRY_BYTES = 8;

/** The kinds of operations, by their numbers. */
const KINDS = ["delete", "put", "deleteRange", "merge", "put", undefined, "dropKeyspace"] as const;
const PUT_EXPIRING = 4;

/** The operations that a subscriber asks for, and its encodings. */
export interface Filter<K extends Encoding, V extends Encoding> {
  /** The name of the keyspace; undefined for all. */
  keyspace: string | undefined;
  span: Span;
  keyEncoding: K;
  valueEncoding: V;
}

/** Yields the batches of a page, each with its sequence number, and keyspaces with 0. */
export function* batchesOf(page: Uint8Array): Generator<[sequence: number, batch: Uint8Array]> {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  for (let at = 0; at < page.length;) {
    const sequence = view.getFloat64(at, true);
    const start = at + HEAD_BYTES;
    at = start + view.getUint32(at + SEQUENCE_BYTES, true);
    yield [sequence, page.subarray(start, at)];
  }
}

/** Decodes a keyspace of a page. */
export function keyspaceOf(bytes: Uint8Array): [id: number, name: string] {
  const reader = new Reader(bytes);
  return [reader.varint(), new TextDecoder().decode(reader.bytes(reader.varint()))];
}

/** Decodes the operations of a batch in keyspaces with a name, as far as the filter has them. */
export function operationsOf<K extends Encoding, V extends Encoding>(
  batch: Uint8Array,
  filter: Filter<K, V>,
  nameOf: (keyspace: number) => string | undefined,
): ChangeOperation<K, V>[] {
  const operations: ChangeOperation<K, V>[] = [];
  const reader = new Reader(batch);
  while (!reader.done) {
    const kind = reader.byte();
    const keyspace = nameOf(reader.varint());
    const key = reader.bytes(reader.varint());
    const type = KINDS[kind];
    const isDrop = type === "dropKeyspace";
    const rest = type === "delete" || isDrop ? 0 : reader.varint();
    const isRange = type === "deleteRange";
    // For a range it is one more than the length of its end, or 0 for an open end.
    const value = reader.bytes(isRange ? Math.max(rest - 1, 0) : rest);
    if (keyspace === undefined || (filter.keyspace ?? keyspace) !== keyspace) continue;
    const operation = isDrop
      ? { type }
      : isRange
        ? rangeOf(key, rest > 0 ? value : undefined, filter.span)
        : isWithin(key, filter.span) && keyed(kind, key, value, filter);
    if (operation) operations.push({ keyspace, ...operation } as ChangeOperation<K, V>);
  }
  return operations;
}

/** Returns the part of a deleted range that a subscriber asks for; undefined if there is none. */
function rangeOf(from: Uint8Array, to: Uint8Array | undefined, span: Span): object | undefined {
  const gte = compare(from, span.from) < 0 ? span.from : from;
  const isFirst = to !== undefined && (span.to === undefined || compare(to, span.to) < 0);
  const lt = isFirst ? to : span.to;
  if (lt !== undefined && compare(gte, lt) >= 0) return undefined;
  return { type: "deleteRange", gte: gte.slice(), lt: lt?.slice() };
}

function keyed<K extends Encoding, V extends Encoding>(
  kind: number,
  bytes: Uint8Array,
  value: Uint8Array,
  { keyEncoding, valueEncoding }: Filter<K, V>,
): object {
  const type = KINDS[kind];
  const key: Decoded<K> = decode(bytes.slice(), keyEncoding);
  if (type === "delete") return { type, key };
  if (type === "merge") return { type, key, ...operandOf(value) };
  const of = (stored: Uint8Array) => decode(stored.slice(), valueEncoding, () => bytes);
  if (kind !== PUT_EXPIRING) return { type, key, value: of(value) };
  const view = new DataView(value.buffer, value.byteOffset);
  const expiresAt = Number(view.getBigUint64(0, true));
  return { type, key, value: of(value.subarray(EXPIRY_BYTES)), expiresAt };
}

function operandOf(bytes: Uint8Array): object {
  const [operator] = bytes;
  if (operator === CUSTOM) return { operand: bytes.slice(1) };
  const number = new DataView(bytes.buffer, bytes.byteOffset).getBigInt64(1, true);
  return { [Object.keys(OPERAND)[operator as number] as string]: number };
}

function isWithin(key: Uint8Array, { from, to }: Span): boolean {
  return compare(key, from) >= 0 && (to === undefined || compare(key, to) < 0);
}

/** Compares bytes: negative if the first are less, 0 if they are equal. */
export function compare(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at === -1 ? a.length - b.length : (a[at] as number) - (b[at] ?? -1);
}

/** Reads numbers and byte strings, one after another. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] as number;
  }

  /** Reads a number below 2^53, seven bits per byte, lowest first. */
  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  bytes(length: number): Uint8Array {
    return this.#bytes.subarray(this.#at, (this.#at += length));
  }
}
