/** The interface of all contenders. A synchronous one returns its results without promises. */

/** A key and its value. */
export type Entry = readonly [key: Uint8Array, value: Uint8Array];

/** The cache size where it can be set: SQLite's default, which holds all that is stored. */
export const CACHE_BYTES = 16 << 20;

type Result<T> = T | Promise<T>;

/** An open store. */
export interface Store {
  /** Writes all entries as one transaction; the result is only awaited. */
  batch(entries: readonly Entry[]): Result<unknown>;
  /** Writes one entry in its own transaction; the result is only awaited. */
  put(entry: Entry): Result<unknown>;
  get(key: Uint8Array): Result<Uint8Array | undefined>;
  /** The values of many keys, in their order. */
  getMany(keys: readonly Uint8Array[]): Result<(Uint8Array | undefined)[]>;
  /** The first `count` entries from a key on, in key order; absent where there is no such operation. */
  scan?(from: Uint8Array, count: number): Result<Entry[]>;
  close(): Result<void>;
}

/** A way to store things. */
export interface Contender {
  /** Opens an empty store: what an earlier run left is deleted first. */
  open(): Promise<Store>;
}

/** The contenders' names. */
export type Name =
  | "terrane"
  | "indexeddb"
  | "idb-keyval"
  | "browser-level"
  | "dexie"
  | "sqlite"
  | "wa-sqlite"
  | "regolith"
  | "trine-kv";

/** Loads each contender alone, as an application that uses it would, and nobody is charged with another's module. */
export type Loaders = Record<Name, () => Promise<Contender>>;
