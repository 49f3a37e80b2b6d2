/** What every contender can do. A synchronous one answers at once, and nothing waits for it. */

/** A key and its value. */
export type Entry = readonly [key: Uint8Array, value: Uint8Array];

/** The cache of those that can be told: SQLite's default, of the size of all that is stored. */
export const CACHE_BYTES = 16 << 20;

type Answer<T> = T | Promise<T>;

/** An open store. */
export interface Store {
  /** Writes all of them as one transaction; what it returns is only waited for. */
  batch(entries: readonly Entry[]): Answer<unknown>;
  /** Writes one, as a transaction of its own; what it returns is only waited for. */
  put(entry: Entry): Answer<unknown>;
  get(key: Uint8Array): Answer<Uint8Array | undefined>;
  /** The values of many keys, in their order. */
  getMany(keys: readonly Uint8Array[]): Answer<(Uint8Array | undefined)[]>;
  /** The first `count` entries from a key on, in key order. */
  scan(from: Uint8Array, count: number): Answer<Entry[]>;
  close(): Answer<void>;
}

/** A way to store things. */
export interface Contender {
  /** Opens an empty store: what an earlier run left is deleted first. */
  open(): Promise<Store>;
}

/** The contenders' names. */
export type Name = "terrane" | "indexeddb" | "sqlite";
