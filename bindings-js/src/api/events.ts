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

/** What a quantity is of: the whole tree or a parameter; levels from the first to the last; an item. */
export type Of = "tree" | { levels: [first: number, last: number] } | { item: number };

/** Something that was measured. */
export interface Quantity {
  /** Such as `bytes`, `capacity`, or the name of the policy's parameter. */
  name: string;
  of: Of;
  value: number;
}

/** A comparison behind a policy's decision. It holds. */
export interface Term {
  left: Quantity;
  relation: "<" | "<=" | ">=" | ">";
  right: Quantity;
  /** `thousandths` are those of a ratio, a share or a cost; of what a `count` is, the names say. */
  unit: "bytes" | "runs" | "tables" | "entries" | "operations" | "count" | "thousandths";
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
      terms: Term[];
      through: number;
    }
  /** A compaction began. `reason` is the policy's explanation, `terms` are the comparisons behind it. */
  | {
      type: "compaction-begun";
      keyspace: string;
      compaction: number;
      groups: number;
      order: "parallel" | "sequential";
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
