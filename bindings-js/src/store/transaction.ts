/**
 * Transactions: reads of a snapshot, and writes that are committed as one batch if nothing that was read has
 * changed since.
 *
 * 1. Each lookup records its key, and each iteration the range that it has looked at so far.
 * 2. The batch has a condition for each of these. If one does not hold, or the snapshot ended with its worker, the body
 *    runs again on a new snapshot.
 * 3. Keys are texts with a character for each byte here: they compare as the bytes do, and a map finds them.
 */

import {
  type Decoded,
  type Encodable,
  type Encoding,
  type Entry,
  MAX_KEY_BYTES,
  MAX_VALUE_BYTES,
  type Operand,
  type RangeFields,
  type RangeOptions,
} from "../api/data.ts";
import { ClosedError, ConflictError } from "../api/errors.ts";
import type { EntriesOptions, ExpiryOptions, ReadOptions } from "../api/options.ts";
import type { Iteration, KeyspaceOf, Mode, Result, TransactionOf } from "../api/store.ts";
import { decode, encodeBytes } from "../codec/bytes.ts";
import { decodeOutcome, type Encodings, encodeUnchanged } from "../codec/conditions.ts";
import { decodeConflicts } from "../codec/conflicts.ts";
import { Encoder, encodeSpan, MAX_BATCH_BYTES, MAX_EXPIRING_BYTES } from "../codec/encoder.ts";
import { toBytes } from "../codec/encodings.ts";
import { merged } from "../codec/merged.ts";
import { checkOperand, type Merge, toMerge } from "../codec/operand.ts";
import { checked, ITERATION, EXPIRY, RANGE, READ } from "../codec/options.ts";
import { pairs } from "../codec/projection.ts";
import { now, toEncoding, toEncodings, toExpiry, toScan } from "../codec/requests.ts";
import { toSpan } from "../codec/span.ts";
import { check, checkLength, invalid } from "../codec/validate.ts";
import { delay } from "../shared/delay.ts";
import { scopeOf } from "./keyspace.ts";
import type { HeldSnapshot, Port } from "./port.ts";
import type { Scope } from "./reader.ts";
import { isSnapshotEnded } from "./snapshot.ts";
import { generate, runSteps, type Steps } from "./steps.ts";

/** The most times that a body runs. */
const TRIES = 10;
/** The most ranges that are recorded; neighbours are joined beyond that. */
const MAX_READS = 10_000;

/** The keys from `from` up to `to`, which is not one of them, or to the end. */
interface Span {
  keyspace: number;
  from: string;
  to: string | undefined;
  /** Whether another covers it, so that it is recorded no more. */
  joined?: boolean;
}

/** A value that was written. */
interface Put {
  value: Uint8Array<ArrayBuffer>;
  /** The time at which it expires, in milliseconds since the epoch; undefined if it does not. */
  expiresAt: number | undefined;
}

/** The writes to a key, as the batch has them. */
interface Written {
  /** The last write that is no merge: a value, or a delete; undefined if operands apply to the stored value. */
  base: Put | "deleted" | undefined;
  /** The operands of the merges after it. */
  operands: Merge[];
}

type Values = Map<string, Written>;
type Row = [key: Uint8Array<ArrayBuffer>, value: Uint8Array<ArrayBuffer>];

/** The reads and writes of a transaction, in all keyspaces. */
class Changes {
  readonly snapshot: HeldSnapshot;
  /** The writes to each key that the batch will have, by keyspace. */
  readonly writes: Map<number, Values> = new Map();
  /** Ranges that are deleted before these writes. */
  readonly removed: Span[] = [];
  reads: Span[] = [];
  /** The encodings of the keyspaces, in which conflicts are reported. */
  readonly encodings: Map<number, Encodings> = new Map();
  ended = false;
  /** The time when it started, by which its own writes have expired. */
  readonly now: number = now();

  constructor(snapshot: HeldSnapshot) {
    this.snapshot = snapshot;
  }

  /** Whether a key is deleted with a range, unless it is among the writes. */
  removes(keyspace: number, key: string): boolean {
    return this.removed.some((span) => span.keyspace === keyspace && isInside(key, span));
  }

  /** Returns the value that the transaction sees over a stored value, which counts only without a base. */
  seen(
    { base, operands }: Written,
    stored: Uint8Array<ArrayBuffer> | undefined,
  ): Uint8Array<ArrayBuffer> | undefined {
    let value = base === undefined ? stored : undefined;
    if (typeof base === "object" && (base.expiresAt ?? Infinity) > this.now) value = base.value;
    return operands.length > 0 ? merged(operands, value) : value;
  }

  read(span: Span): void {
    this.reads.push(span);
    for (let before = Infinity; this.reads.length > MAX_READS && this.reads.length < before;) {
      before = this.reads.length;
      this.reads = joined(this.reads);
    }
  }
}

/** Joins neighbours, two by two, to the spans that cover both. */
function joined(spans: Span[]): Span[] {
  const order = (a: Span, b: Span) => a.keyspace - b.keyspace || (a.from < b.from ? -1 : 1);
  const result: Span[] = [];
  let mayJoin = false;
  for (const span of spans.sort(order)) {
    const last = result.at(-1);
    mayJoin = mayJoin && last?.keyspace === span.keyspace;
    if (mayJoin && last !== undefined) {
      const ends = last.to !== undefined && (span.to === undefined || span.to > last.to);
      // A copy, since an iteration may still extend its own.
      result[result.length - 1] = { ...last, to: ends ? span.to : last.to };
      last.joined = span.joined = true;
      mayJoin = false;
    } else {
      result.push(span);
      mayJoin = true;
    }
  }
  return result;
}

/** Runs a transaction. */
export function transact<M extends Mode, K extends Encoding, V extends Encoding, T>(
  scope: Scope<M, K, V>,
  body: (transaction: TransactionOf<M, K, V>) => unknown,
  sync: boolean,
  signal: AbortSignal | undefined,
): Result<M, T> {
  return runSteps(scope.port, attempts<M, K, V, T>(scope, body, sync, signal));
}

/** A transaction in steps: each is a call whose result the next one needs. */
function* attempts<M extends Mode, K extends Encoding, V extends Encoding, T>(
  scope: Scope<M, K, V>,
  body: (transaction: TransactionOf<M, K, V>) => unknown,
  sync: boolean,
  signal: AbortSignal | undefined,
): Steps<T> {
  const { port } = scope;
  check("body", body, typeof body === "function", "a function");
  for (let tries = 1; ; tries++) {
    const changes = new Changes(port.snapshot());
    try {
      const result: unknown = body(new Transaction(scope, changes));
      if (port.isSync && typeof (result as PromiseLike<T> | undefined)?.then === "function") {
        throw invalid("body", "a function that returns no promise", result);
      }
      const value = (yield result) as T;
      signal?.throwIfAborted();
      yield commit(port, changes, sync);
      return value;
    } catch (error) {
      const isRefused = error instanceof ConflictError && changes.ended;
      if (isRefused && tries === TRIES) {
        throw new ConflictError(
          error.conflicts,
          `the transaction ran ${TRIES} times, and each time another write changed what it had read`,
        );
      }
      if (!(isRefused || isSnapshotEnded(error)) || tries === TRIES) throw error;
    } finally {
      changes.ended = true;
      changes.snapshot.release();
    }
    // Whoever was faster finishes first, and not all that were slower start at once. A store that is synchronous has
    // nobody to wait for.
    if (!port.isSync) yield delay(2 ** tries * Math.random());
  }
}

/** Commits the writes; fails with a `ConflictError` if something that was read has changed. */
function commit<M extends Mode>(port: Port<M>, changes: Changes, sync: boolean): unknown {
  const { snapshot, writes, removed, reads } = changes;
  changes.ended = true;
  if (writes.size === 0 && removed.length === 0) return undefined;
  const batch = new Encoder();
  for (const span of removed) batch.deleteSpan(span.keyspace, bytesOf(span));
  for (const [keyspace, values] of writes) {
    for (const [key, written] of values) {
      const { base, operands } = written;
      if (base === "deleted") batch.delete(keyspace, fromText(key));
      else if (base !== undefined) batch.put(keyspace, fromText(key), base.value, base.expiresAt);
      for (const operand of operands) batch.merge(keyspace, fromText(key), operand);
    }
  }
  checkLength("batch", batch.length, MAX_BATCH_BYTES);
  const conditions = new Encoder();
  for (const span of reads) {
    encodeUnchanged(conditions, span.keyspace, snapshot.snapshot, encodeSpan(bytesOf(span)));
  }
  const outcome = port.invoke("write_if", conditions.bytes(), batch.bytes(), sync);
  return port.map(outcome, (bytes) => {
    if (decodeOutcome(bytes) !== undefined) return;
    const encodings = reads.map(({ keyspace }) => changes.encodings.get(keyspace) as Encodings);
    throw decodeConflicts(bytes, encodings);
  });
}

class Transaction<M extends Mode, K extends Encoding, V extends Encoding> implements TransactionOf<
  M,
  K,
  V
> {
  readonly #scope: Scope<M, K, V>;
  readonly #changes: Changes;

  constructor(scope: Scope<M, K, V>, changes: Changes) {
    this.#scope = scope;
    this.#changes = changes;
    changes.encodings.set(scope.keyspace, scope);
  }

  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<M, KE, VE>,
  ): TransactionOf<M, KE, VE> {
    const scope = scopeOf(keyspace, this.#scope.port) as Scope<M, KE, VE> | undefined;
    if (scope === undefined) throw invalid("keyspace", "one of this store", keyspace);
    return new Transaction(scope, this.#changes);
  }

  get<E extends Encoding = V>(
    key: Encodable<K>,
    options: ReadOptions<E> = {},
  ): Result<M, Decoded<E> | undefined> {
    const { port } = this.#scope;
    const values = this.getMany([key], options);
    return port.map(values, ([value]) => value);
  }

  getMany<E extends Encoding = V>(
    keys: readonly Encodable<K>[],
    options: ReadOptions<E> = {},
  ): Result<M, (Decoded<E> | undefined)[]> {
    this.#checkOpen();
    const { port, keyspace, valueEncoding } = this.#scope;
    const given = checked(options, READ).valueEncoding ?? (valueEncoding as Encoding as E);
    const encoding = toEncoding("valueEncoding", given);
    check("keys", keys, Array.isArray(keys), "an array");
    const written = this.#changes.writes.get(keyspace);
    const found = keys.map((key) => {
      const bytes = this.#key(key);
      const text = toText(bytes);
      const write = written?.get(text);
      const isKnown = write ? write.base !== undefined : this.#changes.removes(keyspace, text);
      if (!isKnown) this.#changes.read({ keyspace, from: text, to: `${text}\0` });
      return { bytes, isKnown, write };
    });
    const missing = found.filter(({ isKnown }) => !isKnown).map(({ bytes }) => bytes);
    const { snapshot } = this.#changes.snapshot;
    const stored = this.#run(() => port.getMany(keyspace, snapshot, missing, "binary"));
    return port.map(stored, (values) => {
      let next = 0;
      return found.map(({ bytes, isKnown, write }) => {
        const stored = isKnown ? undefined : values[next++];
        const value = write ? this.#changes.seen(write, stored) : stored;
        // What it decodes, the caller may change.
        return value && decode<E>(value.slice(), encoding, () => bytes);
      });
    });
  }

  has(key: Encodable<K>): Result<M, boolean> {
    const { port } = this.#scope;
    return port.map(this.get(key, { valueEncoding: "binary" }), (value) => value !== undefined);
  }

  put(key: Encodable<K>, value: Encodable<V>, options: ExpiryOptions = {}): void {
    const expiresAt = toExpiry(checked(options, EXPIRY), this.#changes.now);
    const limit = expiresAt === undefined ? MAX_VALUE_BYTES : MAX_EXPIRING_BYTES;
    this.#write(key, {
      value: encodeBytes("value", toBytes("value", value, this.#scope.valueEncoding), limit),
      expiresAt,
    });
  }

  merge(key: Encodable<K>, operand: Operand): void {
    checkOperand(operand);
    const merge = toMerge(operand);
    const { keyspace } = this.#scope;
    const text = toText(this.#key(key));
    const written = this.#changes.writes.get(keyspace)?.get(text);
    if (written !== undefined) {
      this.#checkOpen();
      written.operands.push(merge);
    } else {
      this.#write(key, this.#changes.removes(keyspace, text) ? "deleted" : undefined, [merge]);
    }
  }

  delete(key: Encodable<K>): void {
    this.#write(key, "deleted");
  }

  deleteRange(options: RangeOptions<K> = {}): void {
    this.#checkOpen();
    const { keyspace } = this.#scope;
    const span = this.#span(checked(options, RANGE));
    const written = this.#changes.writes.get(keyspace);
    for (const key of written?.keys() ?? []) if (isInside(key, span)) written?.delete(key);
    this.#changes.removed.push(span);
  }

  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> = {},
  ): Iteration<M, Entry<KE, VE>> {
    this.#checkOpen();
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(
      checked(options, RANGE, ITERATION),
      this.#scope,
    );
    const { port, keyspace } = this.#scope;
    const { snapshot } = this.#changes.snapshot;
    const request = toScan({ keyspace, snapshot, keyEncoding }, options);
    const { reverse, limit } = request;
    const binary = pairs("binary", "binary");
    const stored = port.iterate<Row>({ ...request, limit: Infinity }, binary, this.#run);
    const rows = this.#rows(stored, this.#span(options, keyEncoding), reverse);
    let left = limit;
    function* next(): Steps<Entry<KE, VE> | undefined> {
      if (left === 0) return undefined;
      left -= 1;
      const row = yield* rows();
      if (row === undefined) return undefined;
      const [key, value] = row;
      return [decode(key, keyEncoding, () => key), decode(value, valueEncoding, () => key)];
    }
    return generate(port, next, () => stored.return());
  }

  /** Returns a function that returns the next row of a range: of those stored, with the transaction's writes. */
  #rows(stored: Iteration<M, Row>, all: Span, reverse: boolean): () => Steps<Row | undefined> {
    const changes = this.#changes;
    const { keyspace } = this.#scope;
    const written = [...(changes.writes.get(keyspace) ?? [])]
      .filter(([key]) => isInside(key, all))
      .sort(([a], [b]) => (a < b === reverse ? 1 : -1));
    const removed = changes.removed.filter((span) => span.keyspace === keyspace);
    let next: { key: string; row: Row } | undefined;
    let ended = false;
    let looked: Span | undefined;
    const look = (end: string | undefined) => {
      const span = { ...all };
      if (end !== undefined && reverse) span.from = end;
      else if (end !== undefined) span.to = `${end}\0`;
      if (looked === undefined || looked.joined) changes.read((looked = span));
      else Object.assign(looked, span);
    };
    return function* (): Steps<Row | undefined> {
      for (;;) {
        if (next === undefined && !ended) {
          const result = (yield stored.next()) as IteratorResult<Row, void>;
          if (result.done) ended = true;
          else next = { key: toText(result.value[0]), row: result.value };
          look(next?.key);
          const key = next?.key;
          if (key !== undefined && removed.some((span) => isInside(key, span))) {
            next = undefined;
            continue;
          }
        }
        const [first] = written;
        if (next === undefined && first === undefined) return undefined;
        const isStored =
          first === undefined ||
          (next !== undefined && next.key < first[0] !== reverse && next.key !== first[0]);
        if (isStored) {
          const row = next?.row;
          next = undefined;
          return row;
        }
        written.shift();
        const before = next?.key === first[0] ? next.row[1] : undefined;
        if (next?.key === first[0]) next = undefined;
        const value = changes.seen(first[1], before);
        if (value !== undefined) return [fromText(first[0]), value.slice()];
      }
    };
  }

  #write(key: Encodable<K>, base: Written["base"], operands: Merge[] = []): void {
    this.#checkOpen();
    const { writes } = this.#changes;
    const { keyspace } = this.#scope;
    let values = writes.get(keyspace);
    if (values === undefined) writes.set(keyspace, (values = new Map()));
    values.set(toText(this.#key(key)), { base, operands });
  }

  #key(key: Encodable<K>): Uint8Array<ArrayBuffer> {
    return encodeBytes("key", toBytes("key", key, this.#scope.keyEncoding), MAX_KEY_BYTES);
  }

  /** Returns the keys of a range, by default in the keyspace's encoding. */
  #span(range: RangeFields<Encoding>, encoding: Encoding = this.#scope.keyEncoding): Span {
    const { from, to } = toSpan(range, encoding);
    return { keyspace: this.#scope.keyspace, from: toText(from), to: to && toText(to) };
  }

  /** Runs a call on the keyspace, which may have failed to open. */
  #run = <T>(start: () => Result<M, T>): Result<M, T> =>
    this.#scope.port.run(this.#scope.opened, () => ({}), start);

  #checkOpen(): void {
    if (this.#changes.ended) throw new ClosedError("the transaction is closed");
  }
}

function isInside(key: string, { from, to }: Span): boolean {
  return key >= from && (to === undefined || key < to);
}

function bytesOf({ from, to }: Span): { from: Uint8Array; to: Uint8Array | undefined } {
  return { from: fromText(from), to: to === undefined ? undefined : fromText(to) };
}

/** A text with a character for each byte. */
function toText(bytes: Uint8Array): string {
  let text = "";
  // In parts: the number of arguments of a call is limited.
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}

function fromText(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
