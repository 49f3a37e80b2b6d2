/** A store's statistics, the shape of its trees, and check reports. */

import type { ReadCounts } from "./trace.ts";

/** Statistics of one level of a keyspace's tree. */
export interface LevelStats {
  /** Sorted runs. */
  runs: number;
  tables: number;
  /** Size in storage, in bytes. */
  bytes: number;
  /** Entries, including old versions and tombstones. */
  entries: number;
  tombstones: number;
  /** What the policy lets it hold. */
  capacity: Capacity;
  /** Memory that all its filters take, in bytes. */
  filterBytes: number;
  /** Filter lookups by gets in this level since the store was opened. */
  filterLookups: number;
  /** Lookups that did not rule the key out. */
  filterPositives: number;
  /** Of these, those whose table did not have the key: false positives. */
  filterFalsePositives: number;
}

/** What a level may hold before some of it is compacted; `null` where that is not bounded. */
export interface Capacity {
  bytes: number | null;
  runs: number | null;
}

/** What something is of: the tree or a parameter; the first to the last level; the nth of several. */
export type Of = "tree" | { levels: [first: number, last: number] } | { item: number };

/** A unit; `thousandths` are those of a ratio, a share or a cost, and a `count` is of what a name says. */
export type Unit = "bytes" | "runs" | "tables" | "entries" | "operations" | "count" | "thousandths";

/** A number or a key that a policy remembers or derives: a counter, a boundary, a temperature. */
export type Fact =
  { name: string; of: Of; value: number; unit: Unit } | { name: string; of: Of; key: Uint8Array };

/** Statistics of one keyspace. */
export interface KeyspaceStats {
  name: string;
  /** The name of its compaction policy. */
  policy: string;
  /** Messages about stored policy options that this release does not know and ignored. */
  policyProblems: string[];
  /** What its policy remembers of it. */
  policyFacts: Fact[];
  /** Its levels, newest data first. */
  levels: LevelStats[];
  /** Size of its memtables in memory, in bytes. */
  memtableBytes: number;
  memtableEntries: number;
  /** Immutable memtables waiting to be flushed. */
  memtablesSealed: number;
}

/** The threads of a store's engine besides its worker's own. */
export interface ThreadStats {
  /** How many merges run at once on workers; 0 if the store's own worker runs them in slices. */
  count: number;
  /** Why so many. */
  reason: string;
}

/** The jobs of one kind. */
export interface JobStats {
  /** Jobs that wait for a worker. */
  queued: number;
  /** Jobs that are running. */
  running: number;
  /** Jobs that have ended. */
  ended: number;
  /** How long workers were busy with them, in microseconds. */
  busyMicros: number;
  /** Bytes of tables read and written, counted when a job's outcome is installed. */
  readBytes: number;
  writtenBytes: number;
  /** Bytes read and written for each second that a worker was busy with them. */
  bytesPerSecond: number;
}

/** The background work of a store with threads. Counters start at zero when the store is opened. */
export interface BackgroundStats {
  /** The time since the workers started, in microseconds. */
  elapsedMicros: number;
  /** How long each worker has been busy, in microseconds. */
  busyMicros: number[];
  flushes: JobStats;
  /** Merges, of which each part of a shared one counts. */
  merges: JobStats;
}

/** A store's statistics. Counters start at zero when the store is opened. */
export interface Stats {
  threads: ThreadStats;
  keyspaces: KeyspaceStats[];
  /** The sequence number of the last batch, which is the number of batches ever written. */
  lastSequence: number;
  /** Bytes in storage: allocated in total, and the live part of them. */
  space: { taken: number; live: number };
  /** WAL files, including spare ones. */
  walFiles: number;
  /** Bytes of incomplete writes that this opening discarded after a crash. */
  discardedBytes: number;
  /** Bytes of incomplete writes that this and earlier openings quarantined. */
  quarantineBytes: number;
  /** Bytes of batches, as written to the WAL. */
  userBytes: number;
  /** Entries written. */
  entries: number;
  /** Bytes of records written to the WAL. */
  walBytes: number;
  /** Bytes written to the manifest. */
  manifestBytes: number;
  /** Bytes of tables written by flushes. */
  flushedBytes: number;
  /** Bytes of tables read by compactions. */
  mergeReadBytes: number;
  /** Bytes of tables written by compactions. */
  mergeWrittenBytes: number;
  /** Writes that stalled. */
  stalls: number;
  /** Waits of writes by reason. */
  waits: Record<WaitReason, WaitStats> & Partial<Record<SlowdownReason, WaitStats>>;
  /** Background work, if the store has threads. */
  background?: BackgroundStats;
  /** Table accesses of gets. */
  gets: ReadCounts;
  /** Table accesses of iterations; an iteration is counted when it ends. */
  scans: ReadCounts;
}

/**
 * What a write waits for: background work (`memtables`, `memory`, `level0`), the next WAL file
 * (`wal`), the write group ahead of it (`group`), the writer lock (`lock`), its sync (`sync`), or a
 * slow append (`append`).
 */
export type WaitReason =
  "memtables" | "memory" | "level0" | "wal" | "group" | "lock" | "sync" | "append";

/** With threads: the stall that was near when a write was slowed down. */
export type SlowdownReason = "memtablesSlowdown" | "memorySlowdown" | "level0Slowdown";

/** Waits of writes for one reason. */
export interface WaitStats {
  count: number;
  /** Total duration, in microseconds. */
  micros: number;
  /** The longest wait, in microseconds. */
  microsMax: number;
}

/** A table: an immutable sorted file. */
export interface Table {
  id: number;
  /** Size in storage, in bytes. */
  bytes: number;
  /** Entries, including old versions and tombstones. */
  entries: number;
  tombstones: number;
  /** The first key. */
  smallest: Uint8Array;
  /** The last key. */
  largest: Uint8Array;
  /** The lowest and the highest sequence number in it. */
  firstSeq: number;
  lastSeq: number;
  /** Filter bits per key, and the memory that its filters take, in bytes; 0 for none. */
  filterBits: number;
  filterBytes: number;
  /**
   * Entries that only snapshots kept when it was written, and about how many bytes they take. They can be
   * dropped once every snapshot has reached the sequence number `until`. Absent if there are none.
   */
  kept?: { entries: number; bytes: number; until: number };
}

/** A sorted run: tables whose keys do not overlap, in key order. */
export interface Run {
  /** Within a level, newer runs have greater ids. */
  id: number;
  tables: Table[];
}

/** A level of a tree: its runs, newest first. */
export interface Level {
  runs: Run[];
}

/** Damage that a check found. */
export interface Damage {
  file: string;
  /** Position in the file, in bytes. */
  offset: number;
  expected: string;
  found: string;
}

/** A file with a name of the store's that nothing in the store refers to. */
export interface Orphan {
  file: string;
  /** Whether opening the store keeps it, as a lost write may have referred to it. Others are removed. */
  kept: boolean;
}

/** The result of a check. */
export interface CheckReport {
  /** Tables read. */
  tables: number;
  /** Entries in them, including old versions. */
  entries: number;
  /** WAL records read. */
  walRecords: number;
  /** Bytes of incomplete writes that opening the store discarded after a crash. */
  discardedBytes: number;
  /** Bytes of incomplete writes that are quarantined. */
  quarantineBytes: number;
  /** Files that nothing in the store refers to; they are not damage. */
  orphans: Orphan[];
  /** Empty for an intact store. */
  damage: Damage[];
  /** Damage to one of two copies, which opening the store repairs where there is space. */
  repairable: Damage[];
}
