/** What a store tells of itself. */

/** One level of a store's tree. */
export interface LevelStats {
  /** Sorted runs. */
  runs: number;
  tables: number;
  /** Bytes on the medium. */
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
  /** How many writes the store has ever taken. */
  lastSequence: number;
  /** Bytes on the medium: taken in all, and live among them. */
  space: { taken: number; live: number };
  /** Live log files. */
  logs: number;
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
  /** Empty for a sound store. */
  damage: Damage[];
}

/** Reads the engine's JSON, whose names have underscores. */
export function parse(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [camel(name), field]));
  });
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
