import {
  type AbstractBatchOperation,
  type AbstractBatchOptions,
  type AbstractChainedBatch,
  type AbstractClearOptions,
  type AbstractDatabaseOptions,
  type AbstractDelOptions,
  AbstractLevel,
  type AbstractOpenOptions,
  type AbstractPutOptions,
} from "abstract-level";

/** Options of a database: those of Level, and those of the store that are listed here. */
export interface TerraneLevelOptions<K, V> extends AbstractDatabaseOptions<K, V> {
  /** Whether the database is in memory, for tests; it keeps its entries while the object lives. False by default. */
  memory?: boolean | undefined;
  /** The form of the store on files: a directory (default) or one file. Not in a browser. */
  layout?: "directory" | "file" | undefined;
  /** Whether the store is only read. Not in a browser. */
  readOnly?: boolean | undefined;
  /** Whether writes and clears without `sync` are durable when they resolve; `"buffered"` by default. */
  durability?: "buffered" | "sync" | undefined;
  /** The compaction policy of a new store: a name, or an object with parameters. */
  policy?: string | { policy: string } | undefined;
  /** The size of a memtable in bytes. */
  memtableBytes?: number | undefined;
  /** Classic-level's name of `memtableBytes`. */
  writeBufferSize?: number | undefined;
  /** The size of the block cache in bytes. */
  cacheBytes?: number | undefined;
  /** Classic-level's name of `cacheBytes`. */
  cacheSize?: number | undefined;
  /** Bytes of logs that are kept for the change feed. */
  feedBytes?: number | undefined;
  /** Bits per key of filters. */
  filterBits?: number | undefined;
  /** Longest time before a buffered write is durable, in milliseconds. */
  syncInterval?: number | undefined;
  /** Longest wait for another holder, in milliseconds. */
  timeout?: number | undefined;
}

/** Options of a write. */
export interface WriteOptions {
  /** Whether the write is durable when its promise resolves. The default is that of `durability`. */
  sync?: boolean | undefined;
}

/** Options of a put. */
export interface PutOptions<K, V> extends AbstractPutOptions<K, V>, WriteOptions {}

/** Options of a deletion. */
export interface DelOptions<K> extends AbstractDelOptions<K>, WriteOptions {}

/** Options of a batch. */
export interface BatchOptions<K, V> extends AbstractBatchOptions<K, V>, WriteOptions {}

/** Options of `clear`. */
export interface ClearOptions<K> extends AbstractClearOptions<K>, WriteOptions {}

/** A batch to which operations are added one by one. */
export interface ChainedBatch<TDatabase, K, V> extends AbstractChainedBatch<TDatabase, K, V> {
  write(): Promise<void>;
  write(options: WriteOptions): Promise<void>;
}

/** A Level database on a store of terrane. */
export class TerraneLevel<K = string, V = string> extends AbstractLevel<Uint8Array | string, K, V> {
  /** Opens the database at a location: a store's name in a browser, and a path elsewhere. */
  constructor(location: string, options?: TerraneLevelOptions<K, V>);

  /** Deletes the database at a location, which must not be open. */
  static destroy(location: string): Promise<void>;

  /** The location. */
  get location(): string;

  open(options?: AbstractOpenOptions): Promise<void>;

  put(key: K, value: V): Promise<void>;
  put<KE = K, VE = V>(key: KE, value: VE, options: PutOptions<KE, VE>): Promise<void>;

  del(key: K): Promise<void>;
  del<KE = K>(key: KE, options: DelOptions<KE>): Promise<void>;

  batch(operations: Array<AbstractBatchOperation<typeof this, K, V>>): Promise<void>;
  batch<KE = K, VE = V>(
    operations: Array<AbstractBatchOperation<typeof this, KE, VE>>,
    options: BatchOptions<KE, VE>,
  ): Promise<void>;
  batch(): ChainedBatch<typeof this, K, V>;

  clear(): Promise<void>;
  clear<KE = K>(options: ClearOptions<KE>): Promise<void>;

  /** Estimates the bytes that the entries from one key up to another take in tables. */
  approximateSize(start: K, end: K, options?: { keyEncoding?: string }): Promise<number>;

  /** Compacts the entries from one key up to another. */
  compactRange(start: K, end: K, options?: { keyEncoding?: string }): Promise<void>;
}
