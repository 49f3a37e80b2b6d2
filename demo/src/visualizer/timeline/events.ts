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

/** An event of a recording. */
export type RecordedEvent = EngineEvent | ShapeEvent;
