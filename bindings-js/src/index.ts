/// <reference lib="esnext.disposable" preserve="true" />
/** An ordered key-value store for the browser. */

export type { WaitOptions } from "./abort.ts";
export type { BatchOperation } from "./batch.ts";
export type { Db } from "./db.ts";
export type { Entry } from "./parts.ts";
export * from "./errors.ts";
export type { Event, Observed } from "./events.ts";
export type { Keyspace, WriteOptions } from "./keyspace.ts";
export { destroy, importStore, type OpenOptions, open } from "./open.ts";
export type { Durability, Encodings, KeyspaceOptions, StoreOptions } from "./options.ts";
export type { Bytes, Decoded, Encoding, RangeOptions } from "./packing.ts";
export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./packing.ts";
export type * from "./policies.ts";
export type { EntriesOptions, Reader, ReadOptions } from "./reader.ts";
export type { Snapshot } from "./snapshot.ts";
export type {
  CheckReport,
  Damage,
  KeyspaceStats,
  Level,
  LevelStats,
  Run,
  Stats,
  Table,
  WaitReason,
  WaitStats,
} from "./stats.ts";
export type * from "./trace.ts";
