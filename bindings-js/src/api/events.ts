/** Events: what the engine does, as it does it. */

import type { PolicyOptions } from "./policies.ts";
import type { Capacity, Damage, Fact, Of, Table, Unit } from "./stats.ts";

/** Statistics about the accesses to a keyspace, as its policy sees them. */
export interface Observed {
  updates: number;
  pointReads: number;
  rangeReads: number;
  /** Reads by table id. */
  tableReads: Record<string, number>;
}

/** Something that was measured. */
export interface Quantity {
  /** What it is: `bytes`, `capacity`, or the name of a parameter of the policy. */
  name: string;
  of: Of;
  value: number;
}

/** A comparison behind a decision. It holds. */
export interface Term {
  left: Quantity;
  relation: "<" | "<=" | ">=" | ">";
  right: Quantity;
  /** The unit of both. */
  unit: Unit;
}

/** Something that the engine did. `keyspace` is a keyspace's name. */
export type Event =
  | EngineEvent
  /** A snapshot that was never released was garbage-collected, and released. */
  | { type: "snapshot-forgotten" }
  /** The listener was too slow for this many events, which were dropped. */
  | { type: "dropped"; count: number };

/** An event, with its time. */
export type EngineEvent = EngineEventBody & {
  /** Microseconds since the store was opened; from 0 again after the page was resumed. */
  micros: number;
};

/** What happened, by `type`. */
export type EngineEventBody =
  /** The store was opened and its WAL replayed. Only in traces of native programs, which listen by then. */
  | {
      type: "recovered";
      /** WAL records replayed, the batches in them, and the entries in those. */
      records: number;
      batches: number;
      entries: number;
      /** Bytes of incomplete writes that were discarded. */
      discardedBytes: number;
      /** Damage that was repaired from second copies. */
      repaired: Damage[];
    }
  | { type: "keyspace-created" | "keyspace-dropped"; keyspace: string }
  | { type: "policy-changed"; keyspace: string; policy: PolicyOptions }
  /** A stored policy has options that this release does not know; they have their defaults. */
  | {
      type: "policy-adjusted";
      keyspace: string;
      policy: PolicyOptions;
      problems: string[];
    }
  /** A memtable became immutable and waits to be flushed. */
  | { type: "memtable-sealed"; keyspace: string; bytes: number; through: number }
  /** A memtable was flushed to a run of level 0; `reason` says why it was split into several tables. */
  | {
      type: "flushed";
      keyspace: string;
      run: number;
      tables: Table[];
      reason: string;
      terms: Term[];
      through: number;
    }
  /** A compaction began. `reason` is the policy's explanation, `terms` are the comparisons behind it. */
  | {
      type: "compaction-begun";
      keyspace: string;
      compaction: number;
      groups: number;
      order: "parallel" | "sequential" | { atMost: number };
      reason: string;
      terms: Term[];
      observed: Observed;
    }
  /** A level was added or dropped: runs were renumbered, and nothing was rewritten. */
  | {
      type: "level-changed";
      keyspace: string;
      change: { add: number } | { drop: number };
      reason: string;
      terms: Term[];
      observed: Observed;
    }
  /**
   * A group of tables began to be merged or moved. No other group shares an input with it until it is
   * installed or abandoned, and other events identify it by its first input. A compaction that an earlier session
   * of the store began is continued without another `compaction-begun`.
   */
  | {
      type: "group-begun";
      keyspace: string;
      compaction: number;
      inputs: number[];
      /** The level and the run of the outputs. */
      level: number;
      run: number;
      /** The keys at which a new output starts. */
      cuts: Uint8Array[];
      /** Whether the tables are moved, not rewritten. */
      moved: boolean;
    }
  /** A merge made progress: bytes of its inputs read, and of outputs written. At most 32 a group. */
  | {
      type: "merge-progress";
      compaction: number;
      group: number;
      readBytes: number;
      totalBytes: number;
      writtenBytes: number;
    }
  /** A group's input tables were replaced by its outputs, which are the same tables if moved. */
  | {
      type: "group-installed";
      keyspace: string;
      compaction: number;
      inputs: number[];
      level: number;
      run: number;
      outputs: Table[];
      moved: boolean;
    }
  /** A group was given up, and its inputs stay: it failed, or the store or its keyspace is going. */
  | { type: "group-abandoned"; compaction: number; group: number }
  | { type: "compaction-ended"; compaction: number }
  /** A policy's plan was invalid and was rejected; no data is affected. */
  | { type: "plan-refused"; keyspace: string; why: string }
  /** What a policy remembers was too long, and was not stored. */
  | { type: "policy-state-refused"; keyspace: string; bytes: number }
  /** What the policy allows or remembers has changed, with the flush, group or change before. */
  | { type: "policy-status"; keyspace: string; capacities: Capacity[]; facts: Fact[] }
  /** The policy decided something other than a plan, such as a new setting. */
  | {
      type: "decided";
      keyspace: string;
      /** What was decided, such as `tuned`. */
      decision: string;
      reason: string;
      terms: Term[];
      /** What it was decided on, and the outcome. */
      facts: Fact[];
    }
  /** Writes are stalled. */
  | { type: "stalled"; reason: StallReason }
  /** Writes continue, or fail. */
  | { type: "stall-ended"; reason: StallReason; lastedMicros: number }
  /** Writes slow down, as a stall is near: each waits briefly for background work. With threads only. */
  | { type: "slowdown-begun"; reason: StallReason }
  /** Background work has caught up, or writes now slow down for another reason. */
  | { type: "slowdown-ended"; reason: StallReason; lastedMicros: number }
  /** A background job failed; it will be retried. */
  | { type: "job-failed"; error: string }
  | { type: "file-removed"; file: string };

/**
 * Reasons for which writes stall. `compaction-bytes`, which means that too many bytes wait for compaction, occurs
 * only in native programs and in the simulator. Their traces have the same events.
 */
export type StallReason = "memtables" | "memory" | "level0" | "wal" | "compaction-bytes";
