/** An ordered key-value store for the browser. */

export type {
  BatchOperation,
  Db,
  Durability,
  EntriesOptions,
  ReadOptions,
  WriteOptions,
} from "./db.ts";
export type { Entry, RangeOptions } from "./entries.ts";
export {
  BusyError,
  ClosedError,
  CorruptError,
  EngineError,
  type ErrorCode,
  InvalidArgumentError,
  IoError,
  NewerFormatError,
  NoStoreError,
  QuotaError,
  TerraneError,
  UnavailableError,
} from "./errors.ts";
export { destroy, type EngineOptions, type OpenOptions, open } from "./open.ts";
export type { Bytes, Decoded, Encoding } from "./packing.ts";
export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./packing.ts";
export type { CheckReport, Damage, KeyspaceStats, LevelStats, Stats } from "./stats.ts";
