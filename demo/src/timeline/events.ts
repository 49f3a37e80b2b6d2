/** The events that a recording is made of. */

import type { Capacity, EngineEvent, Fact, Level, PolicyOptions } from "terrane";

/** A keyspace as a process has it to whose events this page is attached: they add to it. */
export interface ShapeEvent {
  type: "shape";
  micros: number;
  policy: PolicyOptions;
  levels: readonly Level[];
  capacities: readonly Capacity[];
  facts: readonly Fact[];
}

/** The power failed, and the store was opened again: what it has then. */
export interface PowerFailedEvent {
  type: "power-failed";
  micros: number;
  /** Bytes that were written to files and not synced, and bytes of incomplete writes that recovery dropped. */
  unsyncedBytes: number;
  discardedBytes: number;
  /** Writes that had been accepted, and are gone; and the last batch that is not. */
  lostWrites: number;
  through: number;
  levels: readonly Level[];
  /** Memtables that the log brought back and that wait to be flushed. */
  sealed: number;
  capacities: readonly Capacity[];
  facts: readonly Fact[];
}

/** An event of a recording. */
export type RecordedEvent = EngineEvent | ShapeEvent | PowerFailedEvent;
