/** An ordered key-value store for the browser. */

export type { WaitOptions } from "./abort.ts";
export type { Db, Keyspace, Snapshot } from "./db.ts";
export type { Entry } from "./entries.ts";
export {
  AbortError,
  BusyError,
  ClosedError,
  CorruptError,
  EngineError,
  type ErrorCode,
  InvalidArgumentError,
  IoError,
  NewerFormatError,
  NotFoundError,
  QuotaError,
  TerraneError,
  UnavailableError,
} from "./errors.ts";
export type { Event } from "./events.ts";
export { destroy, importStore, type OpenOptions, open } from "./open.ts";
export type {
  BatchOperation,
  Durability,
  Encodings,
  KeyspaceOptions,
  StoreOptions,
  WriteOptions,
} from "./options.ts";
export type { Bytes, Decoded, Encoding, RangeOptions } from "./packing.ts";
export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./packing.ts";
export type * from "./policies.ts";
export type { EntriesOptions, Reader, ReadOptions } from "./reader.ts";
export type {
  CheckReport,
  Damage,
  KeyspaceStats,
  Level,
  LevelStats,
  Run,
  Stats,
  Table,
} from "./stats.ts";
