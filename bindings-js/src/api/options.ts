/** Options of stores, keyspaces and calls. */

import type { Encoding, RangeOptions, Rows } from "./data.ts";
import type { Policy } from "./policies.ts";

/** Options of a call that waits. */
export interface WaitOptions {
  /**
   * Rejects the call with an `AbortError` when it is aborted. What the call already requested may
   * still take effect; a call whose signal is aborted beforehand sends nothing.
   */
  signal?: AbortSignal | undefined;
}

/**
 * When a write completes: `"sync"` once it is durable, `"buffered"` once the engine has it. Buffered
 * writes become durable within the store's `syncInterval`, with the next sync write, and when the
 * page is hidden. A crash of the browser or the machine loses at most the buffered writes since
 * then, the newest first, and never part of a batch.
 */
export type Durability = "sync" | "buffered";

/** Options of a write. */
export interface WriteOptions {
  /** Default: the store's. */
  durability?: Durability | undefined;
}

/**
 * Expiry of a value: set `ttl` or `expiresAt`, not both. From then on the key does not exist; a time in the past
 * deletes the key. A value without either does not expire, even if the value before it would have. A keyspace that has
 * had a merge takes no value that expires.
 */
export interface ExpiryOptions {
  /** The time from the call until then, or from the start of a transaction, in milliseconds. */
  ttl?: number | undefined;
  /** The time of the expiry: a date, or milliseconds since the epoch. */
  expiresAt?: number | Date | undefined;
}

/** Options of a put. */
export interface PutOptions extends WriteOptions, ExpiryOptions {}

/** Options of a read. */
export interface ReadOptions<V extends Encoding> {
  /** Encoding of returned values. Default: the keyspace's encoding. */
  valueEncoding?: V | undefined;
}

/** The encoding of the keys that a call is given. */
export interface KeyOptions<K extends Encoding> {
  /** Encoding of the keys. Default: the keyspace's encoding. */
  keyEncoding?: K | undefined;
}

/** Options of an iteration besides its range. */
export interface IterationOptions<K extends Encoding, V extends Encoding> extends ReadOptions<V> {
  /** Encoding of returned keys, and of the range. Default: the keyspace's encoding. */
  keyEncoding?: K | undefined;
  /** Iterates from the last key to the first. Default: false. */
  reverse?: boolean | undefined;
  /** The maximum number of entries. Default: unlimited. */
  limit?: number | undefined;
}

/** Options of an iteration. */
export type EntriesOptions<K extends Encoding, V extends Encoding> = RangeOptions<K> &
  IterationOptions<K, V>;

/** The encodings of a store or a keyspace. */
export interface Encodings<K extends Encoding, V extends Encoding> {
  /** Encoding of keys. Default: the store's encoding; for a store, "utf8". */
  keyEncoding?: K | undefined;
  /** Encoding of values. Default: the store's encoding; for a store, "utf8". */
  valueEncoding?: V | undefined;
}

/** Parts of entries that a cursor returns. */
export interface RowsOptions<R extends Rows> {
  /** Default: "entries". */
  rows?: R | undefined;
}

/** Options of a cursor. */
export type CursorOptions<
  K extends Encoding,
  V extends Encoding,
  R extends Rows,
> = RangeOptions<K> & Encodings<K, V> & RowsOptions<R>;

/** Options of a watch. Returned keys have its encoding as well. */
export type WatchOptions<K extends Encoding> = RangeOptions<K> & KeyOptions<K> & WaitOptions;

/** Options of `changes`: a range is that of one keyspace. */
export type ChangesOptions<K extends Encoding, V extends Encoding> = RangeOptions<K> &
  Encodings<K, V> &
  WaitOptions & {
    /** The cursor after which the batches follow. Default: the end of the feed at the call. */
    since?: string | undefined;
    /** The name of the only keyspace whose operations are wanted; the store's own is `"default"`. Default: all. */
    keyspace?: string | undefined;
  };

/** Bound of a clear. */
export interface LimitOptions {
  /** The maximum number of entries to delete. Default: unlimited. */
  limit?: number | undefined;
  /** With a limit, deletes the last entries instead of the first. Default: false. */
  reverse?: boolean | undefined;
}

/** Options of a clear. */
export type ClearOptions<K extends Encoding = "utf8"> = RangeOptions<K> &
  LimitOptions &
  WriteOptions;

/** Options of a keyspace. */
export interface KeyspaceOptions<K extends Encoding, V extends Encoding> extends Encodings<K, V> {
  /** Creates the keyspace if it does not exist. Default: true. */
  create?: boolean | undefined;
  /** Its compaction policy from now on. Default: its current one; for a new keyspace, the store's. */
  policy?: Policy | undefined;
}

/** `WebAssembly.Module`, where the compiler's libraries have it: those of Node alone do not. */
export type WasmModule = typeof globalThis extends {
  WebAssembly: { Module: { prototype: infer Module } };
}
  ? Module
  : never;

/** Options of a store. */
export interface StoreOptions<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends WaitOptions, Encodings<K, V> {
  /**
   * Where the store's data lives: in the origin private file system, or in memory, private to this
   * opening and gone when it closes. Default: "opfs".
   */
  storage?: "opfs" | "memory" | undefined;
  /** Creates the store if it does not exist. Default: true. */
  create?: boolean | undefined;
  /** Fails if the store already exists. Default: false. */
  errorIfExists?: boolean | undefined;
  /**
   * The compaction policy of the default keyspace from now on, and of every keyspace created later.
   * Default: its current one; for a new store, "leveled".
   */
  policy?: Policy | undefined;
  /** Moment at which a write completes, unless the write says otherwise. Default: "buffered". */
  durability?: Durability | undefined;
  /** The longest time before a buffered write is synced, in milliseconds. Default: 1000. */
  syncInterval?: number | undefined;
  /**
   * How long to wait while another tab, a page that is being closed, or another process holds the store, in
   * milliseconds. A page that shares it has at least a second to answer. Default: 5000.
   */
  timeout?: number | undefined;
  /**
   * Which policies the engine has: `"all"`, or those that are `"needed"`. The lean build of the engine
   * has the common ones; the build with all is loaded where `policy`, or a policy that a keyspace
   * already has, is not among them. Ask for all if another will be set later. Default: "needed".
   */
  policies?: "needed" | "all" | undefined;
  /**
   * The WebAssembly module or its URL: of the lean build, or of the one with all policies where that
   * is needed. Default: the file beside the worker's script.
   */
  wasm?: string | URL | WasmModule | undefined;
  /**
   * How many merges run at once, on workers besides the store's own: at most 8, `"auto"` for one
   * less than the machine has processors, or false for none. That takes a page that is cross-origin
   * isolated; elsewhere, and where `worker` or `wasm` is given, the store's worker runs them between
   * messages. In Firefox, which may hang while it starts threads, `"auto"` is none. `stats` says which
   * and why. Default: "auto".
   */
  threads?: "auto" | number | false | undefined;
  /** Size at which a memtable is flushed, in bytes. Default: 4 MiB. */
  memtableBytes?: number | undefined;
  /** Size of the block cache, in bytes. Default: 8 MiB. */
  cacheBytes?: number | undefined;
  /**
   * Filter bits per key of tables that are written from now on, unless the policy chooses others: 0 to
   * 64, in fractions as small as 0.001, or 0 for no filters. Default: 10.
   */
  filterBits?: number | undefined;
  /**
   * Bytes of logs that are kept for `changes` after tables have their entries, at most 1 GiB. The option of the client
   * that holds the store counts, so give all clients the same. Default: 0.
   */
  feedBytes?: number | undefined;
}

/** Options of a copy to another store. */
export interface CheckpointOptions {
  /** Longest wait while another page holds the target's name, in milliseconds. Default: 5000. */
  timeout?: number | undefined;
}
