/**
 * A store's methods, for both of its implementations: in a page they return promises (`"async"`), in
 * `terrane/worker` they return results (`"sync"`).
 */

import type { Change, ChangeBatch } from "./changes.ts";
import type {
  Decoded,
  Encodable,
  Encoding,
  Entry,
  Operand,
  RangeOptions,
  Row,
  Rows,
  Versioned,
} from "./data.ts";
import type { Event } from "./events.ts";
import type { CallOptions, Iteration, Mode, Result, Returnable } from "./mode.ts";
import type {
  ChangesOptions,
  CheckpointOptions,
  ClearOptions,
  CursorOptions,
  Encodings,
  EntriesOptions,
  ExpiryOptions,
  KeyOptions,
  KeyspaceOptions,
  PutOptions,
  ReadOptions,
  WaitOptions,
  WatchOptions,
  WriteOptions,
} from "./options.ts";
import type { Policy, PolicyOptions } from "./policies.ts";
import type { CheckReport, Level, Stats } from "./stats.ts";
import type { Trace } from "./trace.ts";

export type * from "./changes.ts";
export type { CallOptions, Iteration, Mode, Result, Returnable };

/** One write of a batch, to the keyspace whose `batch` is called or to another. */
export type BatchOperation<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> =
  | (Operation<K, V> & { keyspace?: undefined })
  // The types of another keyspace's keys and values are checked when the batch is encoded.
  | (Operation<any, any> & { keyspace: KeyspaceOf<M, any, any> });

/** An operation of a batch, whatever its keyspace. */
export type Operation<K extends Encoding, V extends Encoding> =
  | ({ type: "put"; key: Encodable<K>; value: Encodable<V> } & ExpiryOptions)
  | { type: "delete"; key: Encodable<K> }
  | ({ type: "merge"; key: Encodable<K> } & Operand)
  | ({ type: "deleteRange" } & RangeOptions<K>);

/** A condition of a batch, on the keyspace whose `batch` is called or on another. */
export type Condition<M extends Mode, K extends Encoding = "utf8", V extends Encoding = "utf8"> =
  | (Expectation<M, K, V> & { keyspace?: undefined })
  | (Expectation<M, any, any> & { keyspace: KeyspaceOf<M, any, any> });

/** Expectation of a condition about a key, whatever its keyspace. */
export type Expectation<M extends Mode, K extends Encoding, V extends Encoding> =
  | {
      key: Encodable<K>;
      /** Whether the key must exist; one that has expired does not. */
      exists: boolean;
    }
  | {
      key: Encodable<K>;
      /** The sequence number of the write that must have set the key's value, as `getVersioned` returns it. */
      sequence: number;
    }
  | {
      key: Encodable<K>;
      /** The value that the key must have. */
      value: Encodable<V>;
    }
  | (RangeOptions<K> & {
      /** The snapshot since which no key of the range may have been written or deleted; an expiry does not count. */
      unchangedSince: SnapshotOf<M, any, any>;
    });

/** Options of a batch. */
export interface BatchOptions<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends WriteOptions {
  /**
   * Conditions that must all hold when the batch is committed, at most 10,000; otherwise nothing is written, and
   * the call fails with a `ConflictError`.
   */
  if?: Iterable<Condition<M, K, V>> | undefined;
}

/**
 * A cursor over a range of the store as it was when the cursor was made. It lies between two rows, or beside one that
 * it has returned. Its calls take effect in the order in which they are made, awaited or not.
 */
export interface CursorOf<M extends Mode, T, K extends Encoding = "utf8"> extends Disposable {
  /**
   * Moves to a key, which need not exist: `next` then starts with the first row at or after it, `prev` with the last
   * at or before it. Nothing is read until then.
   */
  seek(key: Encodable<K>): void;

  /**
   * Returns the next `n` rows in key order, in one message. There are fewer at the end of the range, or if they take
   * more than 64 MiB; none means the end.
   */
  next(n: number, options?: CallOptions<M>): Result<M, T[]>;

  /** Returns the previous `n` rows, the nearest first, as `next` does. */
  prev(n: number, options?: CallOptions<M>): Result<M, T[]>;

  /** Releases the cursor; later calls fail. */
  close(): void;

  /** Closes the cursor at the end of a `using` block. */
  [Symbol.dispose](): void;
}

/** Reads from a keyspace, in its current state or in a snapshot. Keys are ordered by their bytes. */
export interface ReaderOf<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> {
  /** Returns the value of a key, or undefined if the key does not exist. */
  get<E extends Encoding = V, KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, Decoded<E> | undefined>;

  /** Returns the value of a key and its version, or undefined if the key does not exist. */
  getVersioned<E extends Encoding = V, KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, Versioned<E> | undefined>;

  /**
   * Returns the values of several keys, in the order of the keys, all from the same point in time.
   * The value of a key that does not exist is undefined.
   */
  getMany<E extends Encoding = V, KE extends Encoding = K>(
    keys: readonly Encodable<KE>[],
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, (Decoded<E> | undefined)[]>;

  /** Returns whether a key exists, without returning its value. */
  has<KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, KeyOptions<KE>>,
  ): Result<M, boolean>;

  /** Returns whether each of several keys exists, all at the same point in time. */
  hasMany<KE extends Encoding = K>(
    keys: readonly Encodable<KE>[],
    options?: CallOptions<M, KeyOptions<KE>>,
  ): Result<M, boolean[]>;

  /** Returns the first entry of a range, or undefined if the range is empty. */
  first<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, RangeOptions<KE> & Encodings<KE, VE>>,
  ): Result<M, Entry<KE, VE> | undefined>;

  /** Returns the last entry of a range, or undefined if the range is empty. */
  last<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, RangeOptions<KE> & Encodings<KE, VE>>,
  ): Result<M, Entry<KE, VE> | undefined>;

  /**
   * Looks a key up and returns the steps that the lookup took. In a browser traces are in the build with all policies:
   * open the store with `policies: "all"`.
   */
  trace(key: Encodable<K>, options?: CallOptions<M>): Result<M, Trace>;

  /** Seeks to the first entry of a range and returns the steps that the seek took, as `trace` does. */
  traceScan(
    options?: CallOptions<M, RangeOptions<K> & { reverse?: boolean | undefined }>,
  ): Result<M, Trace>;

  /**
   * Iterates over the entries of a range in key order. The iteration shows the store as it was at
   * the call; later writes are not visible. Finish the loop or call `return()` to release that
   * state.
   */
  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, EntriesOptions<KE, VE>>,
  ): Iteration<M, Entry<KE, VE>>;

  /** Iterates over the keys of a range, as `entries` does. */
  keys<KE extends Encoding = K>(
    options?: CallOptions<M, EntriesOptions<KE, V>>,
  ): Iteration<M, Decoded<KE>>;

  /** Iterates over the values of a range in key order, as `entries` does. */
  values<VE extends Encoding = V>(
    options?: CallOptions<M, EntriesOptions<K, VE>>,
  ): Iteration<M, Decoded<VE>>;

  /**
   * Returns a cursor over a range, which shows the store as it was at the call: at the start of the range for `next`,
   * at its end for `prev`. Close it when done.
   */
  cursor<KE extends Encoding = K, VE extends Encoding = V, R extends Rows = "entries">(
    options?: CursorOptions<KE, VE, R>,
  ): CursorOf<M, Row<R, KE, VE>, KE>;

  /** Counts the entries of a range by reading them all. */
  count(options?: CallOptions<M, RangeOptions<K>>): Result<M, number>;

  /**
   * Returns the cursor of the store's change feed after everything that this reads: all earlier writes or, of a
   * snapshot, those that it shows. They are made durable first. To start, read a snapshot, and follow `changes` since
   * its cursor.
   */
  feedCursor(options?: CallOptions<M>): Result<M, string>;
}

/** A named LSM tree of a store, with its own compaction policy. */
export interface KeyspaceOf<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends ReaderOf<M, K, V> {
  /** The keyspace's name; the store's name for its default keyspace. */
  readonly name: string;

  /**
   * Sets the value of a key, for a time if the options `ttl` or `expiresAt` say so. Returns the write's sequence
   * number, which is greater than that of every earlier write; writes that are sent together share one.
   */
  put<KE extends Encoding = K, VE extends Encoding = V>(
    key: Encodable<KE>,
    value: Encodable<VE>,
    options?: CallOptions<M, PutOptions & Encodings<KE, VE>>,
  ): Result<M, number>;

  /**
   * Merges an operand into a value, without reading it, and returns the write's sequence number. The value is a
   * decimal integer, such as `"42"` or `"-3"`; any other value, such as `"042"` or `"42\n"`, counts as absent and is
   * replaced. A sum beyond 64 bits stays at the least or greatest integer.
   *
   * The first merge, or the first value that expires, fixes for good which of the two the keyspace takes. Deletes and
   * compactions do not undo it, and the default keyspace cannot be dropped: use a keyspace of its own for counters.
   * `stats()` reports the `values` of each. Where the new number is wanted, use `transact`. In a browser merges are in
   * the build with all policies: open the store with `policies: "all"`.
   */
  merge<KE extends Encoding = K>(
    key: Encodable<KE>,
    operand: Operand,
    options?: CallOptions<M, WriteOptions & KeyOptions<KE>>,
  ): Result<M, number>;

  /** Deletes a key, which need not exist. Returns the write's sequence number. */
  delete<KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, WriteOptions & KeyOptions<KE>>,
  ): Result<M, number>;

  /**
   * Applies all operations atomically and in order, across any keyspaces of the store, if the conditions of the
   * option `if` hold. Returns the batch's sequence number; for an empty batch, that of the write before it.
   */
  batch(
    operations: Iterable<BatchOperation<M, K, V>>,
    options?: CallOptions<M, BatchOptions<M, K, V>>,
  ): Result<M, number>;

  /**
   * Deletes the entries of a range, by default all, at the cost of one write however many there are. Returns the
   * write's sequence number. Their space is freed in the background, once no snapshot reads it.
   */
  deleteRange(options?: CallOptions<M, RangeOptions<K> & WriteOptions>): Result<M, number>;

  /**
   * Deletes the entries of a range, by default all, or the first of them up to `limit`; returns how many. To count
   * them, it reads the keys: `deleteRange` does not. The result is that of a clear at the moment of the call, whatever
   * is written while it counts. Without a limit all are deleted at once, by one range delete. With one, they are
   * deleted in steps, and reads in between see some of them gone. Where methods return promises, other calls are
   * served meanwhile.
   */
  clear(options?: CallOptions<M, ClearOptions<K>>): Result<M, number>;

  /**
   * Yields what has changed in a range, by default all keys, from this call on: at most once a turn, after the reply to
   * the write. What changes while the caller is busy, or while its page is hidden, is summed up. After a page was
   * suspended there is one change without keys. A merge and a delete of a key that does not exist are changes; an
   * expiry is none. Ends when the store is closed; a keyspace that is dropped changes once.
   */
  watch<KE extends Encoding = K>(
    options?: WatchOptions<KE>,
  ): AsyncGenerator<Change<KE>, void, undefined>;

  /** Returns the levels of the tree with their runs and tables. */
  levels(options?: CallOptions<M>): Result<M, Level[]>;

  /**
   * Returns the compaction policy with its parameters; those that only the build with all policies has are left
   * out where they are at their default.
   */
  policy(options?: CallOptions<M>): Result<M, PolicyOptions>;

  /** Changes the compaction policy; the next compactions reshape the tree accordingly. */
  setPolicy(policy: Policy, options?: CallOptions<M>): Result<M, void>;

  /** Estimates the size of a range in tables, in bytes; memtables are not counted. */
  approximateSize(options?: CallOptions<M, RangeOptions<K>>): Result<M, number>;

  /**
   * Compacts a range into a single run and drops the versions that no reader can see. Where methods
   * return promises, other calls are served meanwhile.
   */
  compactRange(options?: CallOptions<M, RangeOptions<K>>): Result<M, void>;
}

/**
 * All keyspaces of a store at one point in time: reads the default keyspace, and others through
 * `keyspace`. Values that had not expired when it was taken stay in it. Old versions are kept for as long as a
 * snapshot needs them: release it when done.
 */
export interface SnapshotOf<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
>
  extends ReaderOf<M, K, V>, Disposable {
  /** Returns a reader of another keyspace at the same point in time. */
  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<M, KE, VE>,
  ): ReaderOf<M, KE, VE>;

  /** Releases the snapshot; its reads fail from then on. */
  release(): void;

  /** Releases the snapshot at the end of a `using` block. */
  [Symbol.dispose](): void;
}

/**
 * A transaction under way: it reads the store as it was when it started, with its own writes. It ends with the
 * function that it was passed to.
 */
export interface TransactionOf<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> {
  /** Returns the value of a key, or undefined if the key does not exist. */
  get<E extends Encoding = V>(
    key: Encodable<K>,
    options?: ReadOptions<E>,
  ): Result<M, Decoded<E> | undefined>;

  /** Returns the values of several keys, in the order of the keys. */
  getMany<E extends Encoding = V>(
    keys: readonly Encodable<K>[],
    options?: ReadOptions<E>,
  ): Result<M, (Decoded<E> | undefined)[]>;

  /** Returns whether a key exists. */
  has(key: Encodable<K>): Result<M, boolean>;

  /** Iterates over the entries of a range in key order. Writes after the call are not visible. */
  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options?: EntriesOptions<KE, VE>,
  ): Iteration<M, Entry<KE, VE>>;

  /** Sets the value of a key, for a time if the options say so, when the transaction commits. */
  put(key: Encodable<K>, value: Encodable<V>, options?: ExpiryOptions): void;

  /** Merges an operand into a value when the transaction commits. That reads nothing, so no other write conflicts. */
  merge(key: Encodable<K>, operand: Operand): void;

  /** Deletes a key, which need not exist, when the transaction commits. */
  delete(key: Encodable<K>): void;

  /** Deletes the entries of a range, by default all, when the transaction commits. */
  deleteRange(options?: RangeOptions<K>): void;

  /** Returns the transaction's view of another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<M, KE, VE>,
  ): TransactionOf<M, KE, VE>;
}

/**
 * An open store. Its own reads and writes use its default keyspace. Calls take effect in the order
 * in which they are made, even when they are not awaited in between.
 */
export interface DbOf<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends KeyspaceOf<M, K, V> {
  /**
   * Returns the keyspace of this name and creates it if necessary. In a page it can be used at once:
   * if it cannot be opened, its calls fail with the reason.
   */
  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options?: KeyspaceOptions<KE, VE>,
  ): KeyspaceOf<M, KE, VE>;

  /** Returns the names of all keyspaces. */
  keyspaces(options?: CallOptions<M>): Result<M, string[]>;

  /**
   * Drops a keyspace and all its entries; returns whether it existed. Iterations in progress
   * continue to their end.
   */
  dropKeyspace(name: string, options?: CallOptions<M>): Result<M, boolean>;

  /**
   * Deletes the remains of writes that a crash cut short, which opening the store quarantined;
   * returns their size in bytes. `stats` reports how many bytes there are.
   */
  dropQuarantine(options?: CallOptions<M>): Result<M, number>;

  /**
   * Runs `body`, and commits what it writes, all or nothing, if nothing that it read has changed meanwhile.
   * Otherwise `body` runs again, up to ten times in all, so it should change nothing but the transaction; then the
   * call fails with a `ConflictError`. Returns what `body` returns; an error of `body` is passed on, and nothing is
   * written. Transactions are serializable. Where methods return results, `body` must not return a promise.
   */
  transact<T>(
    body: (transaction: TransactionOf<M, K, V>) => (T | Result<M, T>) & Returnable<M, T>,
    options?: CallOptions<M, WriteOptions>,
  ): Result<M, T>;

  /**
   * Runs `query` at a snapshot and yields its result; runs it again, and yields the next, when a range that it has read
   * has changed. `query` reads through its argument only, which ends with it. Changes while the caller is busy, or
   * while its page is hidden, lead to one run. An error of `query` ends the iteration, and so does closing the store.
   */
  live<T>(
    query: (reader: SnapshotOf<M, K, V>) => T | Promise<T>,
    options?: WaitOptions,
  ): AsyncGenerator<T, void, undefined>;

  /**
   * Yields the batches that are written from this call on, or after the cursor `since`: whole, in order, each once,
   * and only once it is durable, whoever leads. `feedBytes` bounds how far back the feed reaches; a `CursorGoneError`
   * has a cursor to start from, once the store is read anew. Expiries, what compactions drop, and keyspaces without a
   * batch are not in the feed; dropping a keyspace is. Ends when the store is closed; a call on
   * a closed store fails with a `ClosedError`. A range that can have no keys is refused.
   */
  changes<KE extends Encoding = K, VE extends Encoding = V>(
    options?: ChangesOptions<KE, VE>,
  ): AsyncGenerator<ChangeBatch<KE, VE>, void, undefined>;

  /** Takes a snapshot of the store, including every call made before. Release it when done. */
  snapshot(): SnapshotOf<M, K, V>;

  /** Makes every earlier write durable. */
  sync(options?: CallOptions<M>): Result<M, void>;

  /**
   * Flushes every earlier write from the memtables to tables, durably. Where methods return
   * promises, other calls are served meanwhile.
   */
  flush(options?: CallOptions<M>): Result<M, void>;

  /** Returns the store's size, shape and counters. */
  stats(options?: CallOptions<M>): Result<M, Stats>;

  /**
   * Reads and verifies everything stored, and reports any damage. Where methods return promises,
   * other calls are served meanwhile.
   */
  check(options?: CallOptions<M>): Result<M, CheckReport>;

  /**
   * Yields what the engine does from this call on: flushes, compactions and their reasons, write
   * stalls. Ends when the store is closed. A listener that falls 10,000 events behind learns how
   * many it missed. Events are collected only while someone listens.
   */
  events(options?: WaitOptions): AsyncGenerator<Event, void, undefined>;

  /** Copies the store, as it is now, to another name on this origin, in Node to another path; nothing may be there. */
  checkpoint(name: string, options?: CallOptions<M, CheckpointOptions>): Promise<void>;

  /**
   * Exports the store, as it is now, as a single file, which `importStore` and native programs read.
   * The file occupies space in the origin private file system, in Node beside the store, until the stream has been read
   * to its end or canceled.
   */
  export(options?: CallOptions<M>): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;

  /**
   * Makes every write durable, closes the store, and releases it to others. Earlier calls complete
   * first. A store that this page has opened more than once stays open until each opening is closed.
   */
  close(): Result<M, void>;
}
