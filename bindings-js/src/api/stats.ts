/** A store's statistics, the shape of its trees, and check reports. */

import type { EngineStats, WriteWaits } from "./contract.ts";

export type {
  BackgroundStats,
  Capacity,
  CheckReport,
  Damage,
  Fact,
  JobStats,
  KeyspaceStats,
  Kept,
  Level,
  LevelStats,
  Of,
  OldestSnapshot,
  RangeDeleteStats,
  Orphan,
  Run,
  Space,
  Table,
  Unit,
  ValueKind,
  WaitStats,
  WriteWaits,
} from "./contract.ts";

/** The threads of a store's engine besides its worker's own. */
export interface ThreadStats {
  /**
   * Number of merges that run at once on workers; 0 if the store's own worker runs them in slices.
   */
  count: number;
  /** Reason of that number. */
  reason: string;
}

/** A store's statistics. Counters start at zero when the store is opened. */
export interface Stats extends EngineStats {
  threads: ThreadStats;
  /** Pages and workers that have the store open. */
  clients: number;
}

/** The condition that a write waits for. */
export type WaitReason = Exclude<keyof WriteWaits, SlowdownReason>;

/** With threads: the stall that was near when a write was slowed down. */
export type SlowdownReason = Extract<keyof WriteWaits, `${string}Slowdown`>;
