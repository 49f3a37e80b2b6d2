/** The events that a recording is made of. */

import type { Capacity, EngineEvent, Fact, Level, PolicyOptions, StallReason } from "terrane";

/** A keyspace as a process has it to whose events this page is attached: they add to it. */
export interface ShapeEvent {
  type: "shape";
  micros: number;
  policy: PolicyOptions;
  levels: readonly Level[];
  capacities: readonly Capacity[];
  facts: readonly Fact[];
}

/** Writes of a native store slow down, since a stall is near, and later go on at their own pace. */
export type SlowdownEvent =
  | { type: "slowdown-begun"; micros: number; reason: StallReason }
  | { type: "slowdown-ended"; micros: number; reason: StallReason; lastedMicros: number };

/** An event of a recording. */
export type RecordedEvent = EngineEvent | ShapeEvent | SlowdownEvent;
