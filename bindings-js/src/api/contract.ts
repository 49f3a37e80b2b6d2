// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.

import type { PolicyOptions } from "./policies.ts";

/** Subject of a quantity or a fact. */
export type Of =
  /** The whole tree, or a parameter. */
  | "tree"
  /** All levels from the first to the last. */
  | { levels: [number, number] }
  /** One of several things, counted from 0. */
  | { item: number };

/** Unit of quantities. */
export type Unit =
  /** Bytes of files. */
  | "bytes"
  /** Sorted runs. */
  | "runs"
  /** Tables. */
  | "tables"
  /** Entries. */
  | "entries"
  /** Reads and writes. */
  | "operations"
  /** A number of something else, which the name says. */
  | "count"
  /** A ratio, a share or a cost, in thousandths. */
  | "thousandths";

/** Relation of two quantities. */
export type Relation =
  /** Less than. */
  | "<"
  /** At most. */
  | "<="
  /** At least. */
  | ">="
  /** Greater than. */
  | ">";

/** A measured quantity. */
export interface Quantity {
  /** Its name, in kebab case: `bytes`, `capacity`, `run-trigger`. */
  name: string;
  /** Its subject. */
  of: Of;
  /** Its value, in the term's unit. */
  value: number;
}

/** Consequence of a comparison for a decision. */
export type Effect =
  /** Data of the level moves down. */
  | { leaves: number }
  /** The level takes what is merged. */
  | { enters: number }
  /** The level cannot take what is merged, which moves deeper. */
  | { passes: number }
  /** Tables of the level are merged where they are. */
  | { merges: number }
  /** Data of the level stays there. */
  | { stays: number }
  /** The first level becomes the second, as it is. */
  | { becomes: [number, number] }
  /** A merge is due. */
  | "due"
  /** The waiting runs are admitted. */
  | "admitted"
  /** The run is merged with newer ones. */
  | "taken"
  /** Outputs are cut into parts. */
  | "cut"
  /** The bucket is split. */
  | "split"
  /** The bucket is joined with a neighbour. */
  | "joined"
  /** The design is chosen. */
  | "chosen";

/** A comparison of two quantities, which holds: `bytes of level 2 > its capacity`. */
export interface Term {
  /** Left side of the comparison. */
  left: Quantity;
  /** Relation of the two sides. */
  relation: Relation;
  /** Right side of the comparison. */
  right: Quantity;
  /** Unit of both sides. */
  unit: Unit;
  /** Consequence for the decision. */
  effect: Effect | null;
}

/** A named number or key. */
export type Fact =
  /** A number. */
  | {
      /** Its name, in kebab case: `counter`, `temperature`. */
      name: string;
      /** Its subject. */
      of: Of;
      /** The number. */
      value: number;
      /** Its unit. */
      unit: Unit;
    }
  /** A key. */
  | {
      /** Its name, in kebab case: `boundary`, `cursor`. */
      name: string;
      /** Its subject. */
      of: Of;
      /** The key. */
      key: Uint8Array;
    };

/** Content that a level may hold before some of it is compacted. */
export interface Capacity {
  /** In bytes; `None` if they are not bounded. */
  bytes: number | null;
  /** In runs; `None` if they are not bounded. */
  runs: number | null;
}

/**
 * Operations on a keyspace since its policy's last plan started, and its reads of tables.  Plans of the
 * fallback, and compactions that a caller asks for, do not count as the policy's. If a plan ends before any
 * step is installed, the operations that it was given count for the next one.
 */
export interface Observed {
  /** Entries written, puts and deletes, counted when their memtable is sealed. */
  updates: number;
  /** Point reads. */
  pointReads: number;
  /** Scans started. */
  rangeReads: number;
  /**
   * Reads of each table in the tree that has any, since it is open: point reads that passed its filter, and
   * scans that came to it. Empty unless the policy watches reads.
   */
  tableReads: Record<string, number>;
  /** Nanoseconds of a block that is read at random; 0 if that is not known. */
  blockNanos: number;
  /**
   * Nanoseconds of a page of 4 KiB that is merged, read and written in sequence, over the number of merges
   * that run at once; 0 if that is not known.
   */
  pageNanos: number;
}

/** Entries of a table that only snapshots kept when it was written. */
export interface Kept {
  /** The number of these entries: superseded versions, and tombstones with nothing below them. */
  entries: number;
  /** Bytes that they take of the table's data blocks; an estimate. */
  bytes: number;
  /** The sequence number that every snapshot must have reached before all of them can be dropped. */
  until: number;
}

/** Knowledge of a planner about a table (SST). */
export interface Table {
  /** Its id. */
  id: number;
  /** Size of its file, in bytes. */
  bytes: number;
  /** Entries of every kind, all versions counted. */
  entries: number;
  /** Those of them that are deletes. */
  tombstones: number;
  /** The least user key held. */
  smallest: Uint8Array;
  /** The greatest user key held (inclusive). */
  largest: Uint8Array;
  /** The least sequence number held. */
  firstSeq: number;
  /** The greatest sequence number held. */
  lastSeq: number;
  /** Filter bits of each key with which it was written. */
  filterBits: number;
  /** Memory that all its filters take, in bytes; 0 without filters. */
  filterBytes: number;
  /**
   * Entries that only snapshots kept when it was written; `None` in tables of releases that did not count
   * them.
   */
  kept?: Kept;
  /**
   * Range deletes through this sequence number were applied when it was written: it has nothing that they
   * hide.
   */
  cleared?: number;
  /** The time by which all its values have expired; 0 if one never expires, or if it has none. */
  expiresBy?: number;
}

/** Damage that was detected: where, what was expected there, and what was found. */
export interface Damage {
  /** The file, as the storage names it. */
  file: string;
  /** Offset in that file, in bytes. */
  offset: number;
  /** Content expected of a sound store. */
  expected: string;
  /** Content found. */
  found: string;
}

/** The order in which the groups of a compaction run. Under each, they commit independently. */
export type Order =
  /** Any number concurrently. */
  | "parallel"
  /** One after another, in this order, also after a restart. */
  | "sequential"
  /** At most this number concurrently, 2 or more; 1 is `Order::Sequential`. */
  | { atMost: number };

/** The level to add or drop. Runs keep their ids and their order. */
export type LevelChange =
  /** Adds an empty level at this index: that level and all below shift down by one. */
  | { add: number }
  /** Drops the empty level at this index: all levels below shift up by one. */
  | { drop: number };

/** Reason why writes wait. */
export type StallReason =
  /** Too many sealed memtables wait to be flushed. */
  | "memtables"
  /** Memtables, including sealed ones, use all of their memory. */
  | "memory"
  /** Level 0 has as many runs as the stop trigger allows, or, as the policy counts, tables over one key. */
  | "level0"
  /** The WAL file is full and the next one is not ready. */
  | "wal"
  /** Too many bytes wait to be compacted: natively and in the simulator. */
  | "compaction-bytes"
  /** A keyspace has too many range deletes: they wait for tables to be written without what they hide. */
  | "range-deletes";

/** Operations of one kind in an interval. */
export interface OperationStats {
  /** Number of operations, estimated from the sample. */
  count: number;
  /** The median latency of the sample, in microseconds. */
  p50Micros: number;
  /** The latency that 99 of 100 of the sample do not exceed, in microseconds. */
  p99Micros: number;
  /** The longest latency of the sample, in microseconds. */
  maxMicros: number;
  /**
   * Keys of the sample in order, from the least to the greatest: about as many operations are between each
   * two of them. A batch counts with one of its keys, and a long key with its first 32 bytes.
   */
  quantiles: Uint8Array[];
}

/** Reads of a level by gets since the store was opened. */
export interface LevelReads {
  /** Filters that were asked. */
  filterLookups: number;
  /** Filters among them that did not rule the key out. */
  filterPositives: number;
  /** Filters among those whose table had no version of the key that the get sees. */
  filterFalsePositives: number;
  /** Tables in which a block was searched: their filter did not rule the key out, or they have none. */
  searches: number;
  /** Blocks among those searched that were not in the block cache. */
  blocksRead: number;
}

/** Something that the engine or the simulator did. */
export type EngineEventBody =
  /** The store was opened and its WAL replayed. */
  | {
      type: "recovered";
      /** Records replayed from WAL files. */
      records: number;
      /** Batches in them. */
      batches: number;
      /** Entries in those. */
      entries: number;
      /** Bytes of torn tails that were discarded. */
      discardedBytes: number;
      /** Damage that was repaired from second copies. */
      repaired: Damage[];
    }
  /** A keyspace was created. */
  | {
      type: "keyspace-created";
      /** Its id. */
      keyspace: string;
    }
  /** A keyspace was dropped with all its data. */
  | {
      type: "keyspace-dropped";
      /** Its id. */
      keyspace: string;
    }
  /** The policy of a keyspace was changed. */
  | {
      type: "policy-changed";
      /** The keyspace. */
      keyspace: string;
      /** The new policy. */
      policy: PolicyOptions;
    }
  /**
   * A keyspace was opened whose stored policy has options that this release does not know or allow: those
   * have their defaults.
   */
  | {
      type: "policy-adjusted";
      /** The keyspace. */
      keyspace: string;
      /** The policy in use. */
      policy: PolicyOptions;
      /** The options that were ignored, in words. */
      problems: string[];
    }
  /** A memtable was sealed and waits to be flushed. */
  | {
      type: "memtable-sealed";
      /** The keyspace. */
      keyspace: string;
      /** Its memory, in bytes. */
      bytes: number;
      /** Its last sequence number. */
      through: number;
    }
  /**
   * The bytes that a keyspace's live rows take, as they were when a memtable was sealed: only the simulator
   * knows them.
   */
  | {
      type: "live-bytes";
      /** The keyspace. */
      keyspace: string;
      /** Bytes of the newest versions of all live keys. */
      bytes: number;
    }
  /**
   * Gets and writes since the preceding event of this type: a sample of them, about once a second while
   * there are some.
   */
  | {
      type: "operations";
      /** The keyspace. */
      keyspace: string;
      /** Length of the interval, which ends now, in microseconds. */
      lastedMicros: number;
      /** Gets in it. */
      gets: OperationStats;
      /** Batches written in it, each counted for the keyspace of its first entry. */
      writes: OperationStats;
      /** Filters and blocks of gets since the store was opened, by level. */
      levels: LevelReads[];
    }
  /** A memtable became a run of level 0. */
  | {
      type: "flushed";
      /** The keyspace. */
      keyspace: string;
      /** The new run. */
      run: number;
      /** Its tables, in key order. */
      tables: Table[];
      /** Reason for cutting it into several tables, in words; empty for one table. */
      reason: string;
      /** The comparisons behind that. */
      terms: Term[];
      /** Everything up to this sequence number is in tables now. */
      through: number;
    }
  /** The set of range deletes over a keyspace's tables changed. */
  | {
      type: "range-deletes";
      /** The keyspace. */
      keyspace: string;
      /** The number of disjoint key ranges that they cover. */
      fragments: number;
      /** Their memory, in bytes. */
      bytes: number;
    }
  /** A compaction started. */
  | {
      type: "compaction-begun";
      /** The keyspace. */
      keyspace: string;
      /** Its number, for later events. */
      compaction: number;
      /** Number of its groups. */
      groups: number;
      /** Order of its groups, and the number that may run at once. */
      order: Order;
      /** The policy's reason, in words. */
      reason: string;
      /** The comparisons behind it. */
      terms: Term[];
      /** The operations that the policy was given. */
      observed: Observed;
    }
  /** A level was added or dropped: runs were relabelled, nothing was rewritten. */
  | {
      type: "level-changed";
      /** The keyspace. */
      keyspace: string;
      /** Change of the levels. */
      change: LevelChange;
      /** The policy's reason, in words. */
      reason: string;
      /** The comparisons behind it. */
      terms: Term[];
      /** The operations that the policy was given. */
      observed: Observed;
    }
  /**
   * A group started to be merged or moved. No other group shares an input with it until it is installed or
   * abandoned; later events identify it by its first input.
   */
  | {
      type: "group-begun";
      /** The keyspace. */
      keyspace: string;
      /** The compaction. Those that a restart resumes are not reported again as started. */
      compaction: number;
      /** The input tables. */
      inputs: number[];
      /** The level of the outputs. */
      level: number;
      /** The run of the outputs. */
      run: number;
      /** User keys at which a new output starts. */
      cuts: Uint8Array[];
      /** Whether the tables are moved without rewriting. */
      moved: boolean;
    }
  /** A merge made progress. There are at most `MAX_PROGRESS` of these for a group. */
  | {
      type: "merge-progress";
      /** The compaction. */
      compaction: number;
      /** The first input of the group. */
      group: number;
      /** Bytes read so far. */
      readBytes: number;
      /** Total bytes to read. */
      totalBytes: number;
      /** About how many bytes are written so far. */
      writtenBytes: number;
    }
  /**
   * A group that had started was given up: a job failed, or its keyspace was dropped. Its inputs stay.
   * Groups that follow it do not start.
   */
  | {
      type: "group-abandoned";
      /** The compaction. */
      compaction: number;
      /** The first input of the group. */
      group: number;
    }
  /** A group was installed: its outputs replaced its inputs. */
  | {
      type: "group-installed";
      /** The keyspace. */
      keyspace: string;
      /** The compaction. */
      compaction: number;
      /** The input tables, in the order in which they were reported when it started. */
      inputs: number[];
      /** The level of the outputs. */
      level: number;
      /** The run of the outputs. */
      run: number;
      /** The output tables; the inputs themselves if they were moved. */
      outputs: Table[];
      /** Whether the tables were moved without rewriting. */
      moved: boolean;
    }
  /** All groups of a compaction are installed or abandoned. */
  | {
      type: "compaction-ended";
      /** The compaction. */
      compaction: number;
    }
  /** The validator refused a plan: a defect of the policy, which costs work but no data. */
  | {
      type: "plan-refused";
      /** The keyspace. */
      keyspace: string;
      /** The violated rule and the tables, in words. */
      why: string;
    }
  /**
   * The policy's state after a step exceeded `MAX_STATE`, and it continues with the one before: a defect of
   * the policy, which costs work but no data.
   */
  | {
      type: "policy-state-refused";
      /** The keyspace. */
      keyspace: string;
      /** The length of the state, in bytes. */
      bytes: number;
    }
  /** The preceding event changed the policy's limits or state. */
  | {
      type: "policy-status";
      /** The keyspace. */
      keyspace: string;
      /** The capacities of levels, from level 0 down. */
      capacities: Capacity[];
      /** State of the policy. */
      facts: Fact[];
    }
  /** The policy decided something other than a plan when the preceding event's step was installed. */
  | {
      type: "decided";
      /** The keyspace. */
      keyspace: string;
      /** Name of the decision, in kebab case. */
      decision: string;
      /** The policy's reason, in words. */
      reason: string;
      /** The comparisons behind it. */
      terms: Term[];
      /** Grounds of the decision, and the outcome. */
      facts: Fact[];
    }
  /** Writes stall. */
  | {
      type: "stalled";
      /** Why. */
      reason: StallReason;
    }
  /** Writes continue, or fail. */
  | {
      type: "stall-ended";
      /** Reason of the stall. */
      reason: StallReason;
      /** Duration in microseconds. */
      lastedMicros: number;
    }
  /** Writes slow down, as a stall is near: each waits briefly for background work. */
  | {
      type: "slowdown-begun";
      /** The stall that is the nearest. */
      reason: StallReason;
    }
  /**
   * Background work has caught up, so writes are no longer slowed down; or they now are for another reason.
   */
  | {
      type: "slowdown-ended";
      /** The stall that was the nearest. */
      reason: StallReason;
      /** Duration in microseconds. */
      lastedMicros: number;
    }
  /** A job failed; it is retried at the next flush or stalled write. */
  | {
      type: "job-failed";
      /** Message of the error. */
      error: string;
    }
  /** An obsolete file was removed. */
  | {
      type: "file-removed";
      /** Its name. */
      file: string;
    };

/** A sorted run: tables with disjoint key ranges, in key order. */
export interface Run {
  /** Its id; within a level a greater id is newer. */
  id: number;
  tables: Table[];
}

/** A level: runs, newest first. */
export interface Level {
  /** The runs, newest (greatest id) first. */
  runs: Run[];
}

/** Statistics of a level of a keyspace. */
export interface LevelStats {
  /** Sorted runs. */
  runs: number;
  /** Tables. */
  tables: number;
  /** Size of the tables' files, in bytes. */
  bytes: number;
  /** Entries, counting every version and tombstone. */
  entries: number;
  /** Tombstones among them. */
  tombstones: number;
  /** Capacity that its policy allows. */
  capacity: Capacity;
  /** Memory that all its filters take, in bytes. */
  filterBytes: number;
  /** Filters of this level that gets asked since the store was opened. */
  filterLookups: number;
  /** Filters among those that did not rule the key out. */
  filterPositives: number;
  /** Filters among those whose table had no version of the key visible to the get. */
  filterFalsePositives: number;
}

/**
 * The oldest snapshot that is held, which keeps old versions from being dropped. Transactions hold snapshots
 * as well.
 */
export interface OldestSnapshot {
  /** The last sequence number that is visible in it. */
  sequence: number;
  /** Time since it was taken, in microseconds. */
  ageMicros: number;
}

/** The range deletes that hide entries of a keyspace's tables. */
export interface RangeDeleteStats {
  /** The number of disjoint key ranges that they cover. */
  fragments: number;
  /** Their memory, in bytes. At 4 MiB range deletes of the keyspace stall. */
  bytes: number;
}

/** Kind of the values of a keyspace. The first merge, or value that expires, fixes it for good. */
export type ValueKind =
  /** Values that neither expire nor were merged. The keyspace can still take any kind. */
  | "plain"
  /** Values that may expire. The keyspace takes no merges. */
  | "expiring"
  /** Values that merges of numbers may have changed. The keyspace takes no values that expire. */
  | "counters"
  /**
   * Values that merges with the store's operator may have changed. The keyspace takes no values that expire.
   */
  | "merge-operator";

/** Statistics of a keyspace. */
export interface KeyspaceStats {
  /** Name of the keyspace. */
  name: string;
  /** Kind of the keyspace's values. */
  values: ValueKind;
  /** Name of the compaction policy. */
  policy: string;
  /** Stored policy options that this release does not know or allow, in words. */
  policyProblems: string[];
  /** Facts that the policy remembers: counters, boundaries and the like. */
  policyFacts: Fact[];
  /** Levels, from level 0 down. */
  levels: LevelStats[];
  /** Bytes of memory in memtables. */
  memtableBytes: number;
  /** Entries in memtables. */
  memtableEntries: number;
  /** Sealed memtables that wait to be flushed. */
  memtablesSealed: number;
  /** Range deletes that hide entries of its tables. */
  rangeDeletes: RangeDeleteStats;
}

/** Space of a storage. */
export interface Space {
  /** Bytes that all files take on disk, including obsolete files and preallocated logs. */
  taken: number;
  /**
   * Bytes that are needed: live tables, the manifest and the records of live logs, which the engine adds.
   */
  live: number;
}

/** The waits of writes for one reason. */
export interface WaitStats {
  /** Number of waits. */
  count: number;
  /** Their total duration, in microseconds; 0 if the executor has no clock. */
  micros: number;
  /** The duration of the longest, in microseconds. */
  microsMax: number;
}

/** The waits of writes, by their reason. */
export interface WriteWaits {
  /** The keyspace had `max_immutable_memtables` sealed memtables. */
  memtables: WaitStats;
  /** Memtables took all of their share of the memory. */
  memory: WaitStats;
  /** Level 0 had `l0_stop_trigger` runs, or tables over one key, as its policy counts. */
  level0: WaitStats;
  /** The WAL file was full and no spare one was ready, so one was created. */
  wal: WaitStats;
  /** The keyspace's range deletes took all of their memory. */
  rangeDeletes: WaitStats;
  /** Another group of writes was committed first; that group's own waits are included. */
  group: WaitStats;
  /** A requested flush, a check, a checkpoint or the like held the writer lock. */
  lock: WaitStats;
  /** A synced write waited for its sync, and for one already in progress. */
  sync: WaitStats;
  /**
   * An append to the log took a millisecond or more, as it may while the operating system syncs the file or
   * writes dirty pages back. Counted only if the executor has a clock.
   */
  append: WaitStats;
  /** The write was slowed down because sealed memtables came near `max_immutable_memtables`. */
  memtablesSlowdown?: WaitStats;
  /** It was slowed down because memtables came near their share of the memory. */
  memorySlowdown?: WaitStats;
  /** It was slowed down because level 0 came near `l0_stop_trigger`. */
  level0Slowdown?: WaitStats;
}

/** The jobs of one kind. */
export interface JobStats {
  /** Jobs that wait for a worker. */
  queued: number;
  /** Jobs that are running. */
  running: number;
  /** Jobs that have ended. */
  ended: number;
  /** Time that workers spent on these jobs, in microseconds. */
  busyMicros: number;
  /** Bytes of tables read, counted when a job's outcome is installed. */
  readBytes: number;
  /** Bytes of tables written, counted when a job's outcome is installed. */
  writtenBytes: number;
  /** Bytes read and written for each second that a worker was busy with them. */
  bytesPerSecond: number;
}

/** The background work of a store that has threads for it. Counters start at zero when it is opened. */
export interface BackgroundStats {
  /** The time since the workers started, in microseconds; 0 if the executor has none. */
  elapsedMicros: number;
  /** Busy time of each worker, in microseconds; a shared pool's includes other stores. */
  busyMicros: number[];
  /** Flushes. */
  flushes: JobStats;
  /** Merges, of which each part of a shared one counts, and all other jobs. */
  merges: JobStats;
}

/** Cost of reads in tables. Divided by `operations`, this is read amplification. */
export interface ReadCounts {
  /** Gets that went past the memtables, and seeks of scans (each scan starts with one). */
  operations: number;
  /** Rows that scans returned. */
  rows: number;
  /** Table reads that a filter avoided. */
  filterNegatives: number;
  /** Tables whose filter passed a key of which they had no visible version. */
  filterFalsePositives: number;
  /** Blocks read. */
  blocks: number;
  /** Blocks among them that were in the block cache. */
  blocksCached: number;
  /** Bytes read from files. */
  bytesRead: number;
}

/** The store's statistics at one moment. Counters start at zero when the store is opened. */
export interface EngineStats {
  /** The keyspaces. */
  keyspaces: KeyspaceStats[];
  /** The last visible sequence number. */
  lastSequence: number;
  /** The oldest snapshot, if any is held. */
  oldestSnapshot: OldestSnapshot | null;
  /** Space allocated on the file system, and in use. */
  space: Space;
  /** WAL files, including spare ones. */
  walFiles: number;
  /** Bytes of incomplete writes, in logs and manifest, that opening the store discarded. */
  discardedBytes: number;
  /** Bytes of such writes in quarantine, from this and earlier openings. */
  quarantineBytes: number;
  /** Bytes of batches written to the WAL. */
  userBytes: number;
  /** Entries written. */
  entries: number;
  /** Bytes of records written to the log. */
  walBytes: number;
  /** Bytes written to the manifest. */
  manifestBytes: number;
  /** Bytes of tables written by flushes. */
  flushedBytes: number;
  /** Bytes of tables read by merges. */
  mergeReadBytes: number;
  /** Bytes of tables written by merges. */
  mergeWrittenBytes: number;
  /** Writes that stalled: for memtables, memory, level 0 or, natively, compaction debt. */
  stalls: number;
  /** All waits of writes, by their reason. */
  waits: WriteWaits;
  /** Background work, if threads do it. */
  background?: BackgroundStats;
  /** Table reads by gets. */
  gets: ReadCounts;
  /** Table reads by scans, each counted when it is dropped. */
  scans: ReadCounts;
}

/** A file named like one of the store's that no commit names. */
export interface Orphan {
  /** Its name. */
  file: string;
  /** Whether opening the store keeps it, since a lost commit may have named it. Others are removed. */
  kept: boolean;
}

/** Findings of a check. */
export interface CheckReport {
  /** Tables read. */
  tables: number;
  /** Entries in them, all versions. */
  entries: number;
  /** WAL records read. */
  walRecords: number;
  /**
   * Bytes at the ends of logs and manifest that hold what is left of writes which a crash cut short: opening
   * the store discards them, or did so.
   */
  discardedBytes: number;
  /** Bytes of such writes in quarantine, from this and earlier openings. */
  quarantineBytes: number;
  /** Files with names of the store's that no commit names. They are no damage. */
  orphans: Orphan[];
  /** Every damage found; empty for a sound store. */
  damage: Damage[];
  /**
   * One of two copies that are not both valid, as damage or a crash leaves them, and bytes in room of the
   * manifest that was never written to. Opening the store makes them good, so only the check of a store that
   * is closed, was opened read-only, or had no room when it was opened finds any.
   */
  repairable: Damage[];
}

/** Source of a block. */
export type Origin =
  /** The block cache. */
  | "cache"
  /** Bytes that an earlier read of the same cursor prefetched. */
  | "read-ahead"
  /** The file. */
  | "vfs";

/** One step of a read. */
export type Step =
  /** A memtable is searched. */
  | {
      step: "memtable";
      /** 0 is the active memtable; the sealed ones follow, newest first. */
      place: number;
    }
  /** A range delete hides older versions of the key: what has none newer is not searched. */
  | {
      step: "range-delete";
      /** Its sequence number. */
      sequence: number;
    }
  /** A run is searched. */
  | {
      step: "run";
      /** Its level. */
      level: number;
      /** The run. */
      run: number;
      /** For a get, the one table of the run whose key range covers the key, if any. */
      table: number | null;
    }
  /** A scan moves to this table of the run. */
  | {
      step: "table";
      /** The table. */
      table: number;
    }
  /** The table's filter is consulted. */
  | {
      step: "filter";
      /** Whether the key may be in the table; if `false`, it is not. */
      mayContain: boolean;
    }
  /** A block is searched. */
  | {
      step: "block";
      /** Its offset in the table's file, in bytes. */
      offset: number;
      /** Its length as stored, in bytes. */
      bytes: number;
      /** Source of the block. */
      origin: Origin;
      /** Bytes read from the file for it, readahead included. */
      read: number;
    }
  /** The newest visible version is a value. */
  | {
      step: "value";
      /** Its sequence number. */
      sequence: number;
      /** Its length, in bytes. */
      bytes: number;
    }
  /** The newest visible version is an operand: older ones count as well. */
  | {
      step: "operand";
      /** Its sequence number. */
      sequence: number;
      /** Its length as stored, in bytes. */
      bytes: number;
    }
  /** The value that was found has expired. */
  | {
      step: "expired";
      /** The time of its expiry. */
      at: number;
    }
  /** The newest visible version is a tombstone. */
  | {
      step: "tombstone";
      /** Its sequence number. */
      sequence: number;
    }
  /** Only versions newer than the reader's sequence number are here. */
  | {
      step: "newer";
    }
  /** The key is not here. */
  | {
      step: "absent";
      /** Whether a filter had passed the key: a false positive. */
      falsePositive: boolean;
    }
  /** A cursor of a scan is positioned on a key; on none if there is nothing in its direction. */
  | {
      step: "stands";
      /** The key. */
      key: Uint8Array | null;
    }
  /** The first row of a scan. */
  | {
      step: "row";
      /** Its key. */
      key: Uint8Array;
      /** The length of its value, in bytes. */
      bytes: number;
    };

/** The steps of a read. */
export interface Trace {
  /** The reader's sequence number: nothing newer is visible. */
  sequence: number;
  /** The steps, in order. */
  steps: Step[];
  /** Cost of the steps. */
  counts: ReadCounts;
}
