/**
 * The writes of one client that took effect, so that each does so once, however often it is sent.
 *
 * 1. A client numbers its writes, and sends those that were not answered again to the next worker.
 * 2. The batch of each write puts the record of its client: the number of the last write, the numbers of unanswered
 *    writes that failed or did not end, and the result of the last write. A crash loses both or none.
 * 3. A write whose number is recorded is not written again. Its answer is the store's last sequence number, and waits
 *    for a sync, since the previous worker may have written without one.
 * 4. A write that failed, and a conditional one that was refused, had no effect: sent again, they are tried again.
 *    (After a conditional write its client sends no other until it is answered, so that the record shows which of the
 *    two it was.)
 *
 * A record is deleted once its client's lock is free, since nobody sends its writes again then.
 */

import type { Store } from "../../wasm/terrane.js";
import { ByteList } from "../codec/byte-list.ts";
import type { Engine } from "../engine/engine.ts";

/** The number under which each client's view has the keyspace of records, and the same as a varint. */
const RECORDS = 0xffff_ffff;
const RECORDS_VARINT = [0xff, 0xff, 0xff, 0xff, 0x0f];
const DELETE = 0;
const PUT = 1;
const NUMBER_BYTES = 8;
const PAGE_BYTES = 1 << 16;
const UNBOUNDED: Uint8Array = new Uint8Array(2);

export class Record {
  readonly #engine: Engine;
  readonly #client: string;
  /** The last write that took effect. */
  #last: number;
  /** Earlier writes that did not take effect, or only in part. */
  readonly #failed: Set<number> = new Set();
  /** Result of the last write, or of the part that took effect: a number of keys, or a keyspace's id; else 0. */
  #result: number;

  /** Reads the record of a client. */
  constructor(engine: Engine, view: Store | undefined, client: string) {
    this.#engine = engine;
    this.#client = client;
    engine.call((store) => store.records(RECORDS, true), view);
    const found = read(engine, view, client);
    const numbers = found === undefined ? [] : decodeNumbers(found);
    this.#last = numbers.shift() ?? 0;
    this.#result = numbers.pop() ?? 0;
    for (const number of numbers) this.#failed.add(number);
  }

  /** Whether a write took effect. */
  has(number: number): boolean {
    return number <= this.#last && !this.#failed.has(number);
  }

  /** Whether this write and all later ones have yet to take effect. */
  isBefore(number: number): boolean {
    return this.#last < number;
  }

  /** Returns the result so far of a write, if it is the last one; else 0. */
  begun(number: number): number {
    return number === this.#last ? this.#result : 0;
  }

  /**
   * Returns a batch with the record of its writes, of which `number` is the last; `isPart` if that takes more batches.
   * The record's last eight bytes are `result`.
   */
  with(batch: Uint8Array, number: number, result: number = 0, isPart: boolean = false): Uint8Array {
    const isLast = number >= this.#last;
    const failed = [...this.#failed].filter((other) => other !== number);
    if (isPart) failed.push(number);
    const last = isLast ? [number, ...failed, result] : [this.#last, ...failed, this.#result];
    const numbers = encodeNumbers(last);
    return joined(batch, operation(PUT, this.#client), varint(numbers.length), numbers);
  }

  /** Notes that a write took effect, in part if `isPart`. */
  wrote(number: number, result: number = 0, isPart: boolean = false): void {
    if (number >= this.#last) this.#result = result;
    this.#last = Math.max(number, this.#last);
    if (isPart) this.#failed.add(number);
    else this.#failed.delete(number);
  }

  /** Notes that a write did not take effect. */
  failed(number: number): void {
    if (!this.has(number)) this.#failed.add(number);
  }

  /** Notes that the writes before this one are answered. */
  answered(oldest: number): void {
    for (const number of this.#failed) if (number < oldest) this.#failed.delete(number);
  }

  /** Syncs, and returns the result of the last write. */
  result(): number {
    this.#engine.sync();
    return this.#result;
  }

  /** Syncs, and returns the answer to a batch that took effect earlier: the last sequence number. */
  sequence(): number {
    this.#engine.sync();
    const stats = JSON.parse(this.#engine.stats()) as { last_sequence: number };
    return stats.last_sequence;
  }
}

/** Returns the clients that have records. */
export function recordedClients(engine: Engine): string[] {
  const clients: string[] = [];
  const view = engine.view();
  try {
    if (!engine.call((store) => store.records(RECORDS, false), view)) return [];
    const scan = engine.call((store) => {
      return store.scan(RECORDS, 0, UNBOUNDED, false, Infinity);
    }, view);
    try {
      while (!scan.done) {
        const page = engine.call(() => scan.page(PAGE_BYTES, true, false));
        const list = new ByteList(page);
        for (let at = 0; at < list.size; at++) clients.push(new TextDecoder().decode(list.at(at)));
      }
    } finally {
      engine.module.release(scan);
    }
    return clients;
  } finally {
    engine.endView(view);
  }
}

/** Deletes the record of a client, if it has one. */
export function forgetRecord(engine: Engine, client: string): void {
  const view = engine.view();
  try {
    if (!engine.call((store) => store.records(RECORDS, false), view)) return;
    if (read(engine, view, client) === undefined) return;
    engine.write(operation(DELETE, client), view);
  } finally {
    engine.endView(view);
  }
}

function read(engine: Engine, view: Store | undefined, client: string): Uint8Array | undefined {
  const id = new TextEncoder().encode(client);
  const keys = joined(new Uint8Array(Uint32Array.of(id.length).buffer), id);
  const list = engine.call((store) => store.get_many(RECORDS, 0, keys), view);
  return new ByteList(list).at(0);
}

/**
 * An operation of a batch on a client's record, as codec/encoder.ts describes it, without a value. The encoder itself
 * would make the worker, which encodes nothing else, 8 % longer.
 */
function operation(kind: number, client: string): Uint8Array {
  const id = new TextEncoder().encode(client);
  return joined(Uint8Array.of(kind, ...RECORDS_VARINT), varint(id.length), id);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return Uint8Array.of(...bytes, value);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function encodeNumbers(numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES * numbers.length);
  const view = new DataView(bytes.buffer);
  numbers.forEach((number, at) => view.setBigUint64(NUMBER_BYTES * at, BigInt(number), true));
  return bytes;
}

function decodeNumbers(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: Math.floor(bytes.length / NUMBER_BYTES) }, (_, at) =>
    Number(view.getBigUint64(NUMBER_BYTES * at, true)),
  );
}
