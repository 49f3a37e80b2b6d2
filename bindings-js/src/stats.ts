/** A store's figures, levels and checks. */

import type { ReadCounts } from "./trace.ts";

/** One level of a store's tree. */
export interface LevelStats {
  /** Sorted runs. */
  runs: number;
  tables: number;
  /** Bytes in storage. */
  bytes: number;
  /** Entries, with old versions and tombstones. */
  entries: number;
  tombstones: number;
}

/** One keyspace of a store. */
export interface KeyspaceStats {
  name: string;
  /** The name of its compaction policy. */
  policy: string;
  /** What of its stored options was not used, since this release does not know it, in words. */
  policyProblems: string[];
  /** Its levels, from the newest data to the oldest. */
  levels: LevelStats[];
  /** Bytes of memory in its memtables. */
  memtableBytes: number;
  memtableEntries: number;
  /** Memtables that wait for their flush. */
  memtablesSealed: number;
}

/** A store's figures. Counts of work begin at zero when the store is opened. */
export interface Stats {
  keyspaces: KeyspaceStats[];
  /** The sequence of the last batch: how many the store has ever taken. */
  lastSequence: number;
  /** Bytes in storage: taken in all, and live among them. */
  space: { taken: number; live: number };
  /** Live log files. */
  logs: number;
  /** Bytes of writes that a crash cut short, which this opening discarded. */
  discardedBytes: number;
  /** Bytes of such writes that are set aside, by this and earlier openings. */
  setAsideBytes: number;
  /** Bytes of batches, as written to the log. */
  userBytes: number;
  /** Entries written. */
  entries: number;
  /** Bytes of tables that flushes wrote. */
  flushedBytes: number;
  /** Bytes of tables that merges read. */
  mergeReadBytes: number;
  /** Bytes of tables that merges wrote. */
  mergeWrittenBytes: number;
  /** Writes that had to wait. */
  stalls: number;
  /** All waits of writes, by their reason; timed where the engine has a clock. */
  waits: Record<WaitReason, WaitStats>;
  /** What gets did with tables. */
  gets: ReadCounts;
  /** What iterations did with tables; each counts when it ends. */
  scans: ReadCounts;
}

/**
 * What a write waits for: background work (`memtables`, `memory`, `level0`), the next log file
 * (`log`), writes before it (`group`), the writer's lock (`lock`), its sync (`sync`), or the system
 * that holds up an append (`append`).
 */
export type WaitReason =
  "memtables" | "memory" | "level0" | "log" | "group" | "lock" | "sync" | "append";

/** The waits of writes for one reason. */
export interface WaitStats {
  count: number;
  /** In all, in microseconds; 0 where there is no clock. */
  micros: number;
  /** The longest, in microseconds. */
  microsMax: number;
}

/** A table of a store: a sorted file that is never changed. */
export interface Table {
  id: number;
  /** Bytes in storage. */
  bytes: number;
  /** Entries, with old versions and tombstones. */
  entries: number;
  tombstones: number;
  /** The first key. */
  smallest: Uint8Array;
  /** The last key. */
  largest: Uint8Array;
  /** The least and the greatest number of a write in it. */
  firstSeq: number;
  lastSeq: number;
}

/** A sorted run: tables whose keys do not overlap, in key order. */
export interface Run {
  /** Within a level a greater one is newer. */
  id: number;
  tables: Table[];
}

/** A level of a tree: runs, from the newest to the oldest. */
export interface Level {
  runs: Run[];
}

/** One damage that a check found. */
export interface Damage {
  file: string;
  /** Where in the file, in bytes. */
  offset: number;
  expected: string;
  found: string;
}

/** What a check found. */
export interface CheckReport {
  /** Tables read. */
  tables: number;
  /** Entries in them, with old versions. */
  entries: number;
  /** Log records read. */
  logRecords: number;
  /** Bytes of writes that a crash cut short, which opening discarded. */
  discardedBytes: number;
  /** Bytes of such writes that are set aside. */
  setAsideBytes: number;
  /** Empty for a sound store. */
  damage: Damage[];
}

/** The fields that hold keys. */
const KEYS: ReadonlySet<string> = new Set(["smallest", "largest", "key"]);

/** Reads the engine's JSON, whose names have underscores and whose keys are lists of bytes. */
export function parse<T>(json: string): T {
  return JSON.parse(json, (name, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (KEYS.has(name)) return Uint8Array.from(value as number[]);
    if (Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [camel(name), field]));
  }) as T;
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Reads the engine's list of keyspaces: their names by its numbers of them. */
export function parseNames(json: string): [number, string][] {
  return JSON.parse(json) as [number, string][];
}
