/** Events: what the engine does, as it does it. */

import type { PolicyOptions } from "./policies.ts";
import type { Table } from "./stats.ts";

/** Statistics about the accesses to a keyspace, as its policy sees them. */
export interface Observed {
  updates: number;
  pointReads: number;
  rangeReads: number;
  /** Reads by table id. */
  tableReads: Record<string, number>;
}

/** Something that the engine did. `keyspace` is a keyspace's name. */
export type Event =
  | { type: "keyspace-created" | "keyspace-dropped"; keyspace: string }
  | { type: "policy-changed"; keyspace: string; policy: Required<PolicyOptions> }
  /** A stored policy has options that this release does not know; they have their defaults. */
  | {
      type: "policy-adjusted";
      keyspace: string;
      policy: Required<PolicyOptions>;
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
      through: number;
    }
  /** A compaction of several groups of tables began; `reason` is the policy's explanation. */
  | {
      type: "compaction-begun";
      keyspace: string;
      compaction: number;
      groups: number;
      order: "parallel" | "sequential";
      reason: string;
      observed: Observed;
    }
  /** A level was added or dropped: runs were renumbered, and nothing was rewritten. */
  | {
      type: "level-changed";
      keyspace: string;
      change: { add: number } | { drop: number };
      reason: string;
      observed: Observed;
    }
  | { type: "merge-progress"; compaction: number; readBytes: number; totalBytes: number }
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
  | { type: "compaction-ended"; compaction: number }
  /** A policy's plan was invalid and was rejected; no data is affected. */
  | { type: "plan-refused"; keyspace: string; why: string }
  /** Writes are stalled. */
  | { type: "stalled"; reason: "memtables" | "memory" | "level0" | "log" }
  /** A background job failed; it will be retried. */
  | { type: "job-failed"; error: string }
  | { type: "file-removed"; file: string }
  /** A snapshot that was never released was garbage-collected, and released. */
  | { type: "snapshot-forgotten" }
  /** The listener was too slow for this many events, which were dropped. */
  | { type: "dropped"; count: number };
