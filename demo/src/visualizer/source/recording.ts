/** A recording: what was set, what has happened so far, and how far it has come. */

import type { Timeline } from "../timeline/timeline.ts";
import { LiveRecording } from "./live.ts";
import { isLive, type Settings } from "./settings.ts";
import { SimulatedRecording } from "./simulation.ts";

/** How far a recording has come. */
export type Status =
  { at: "running"; share: number } | { at: "ended" } | { at: "failed"; error: string };

/** A recording that goes on by itself until it is stopped. */
export interface Recording {
  readonly settings: Settings;
  readonly timeline: Timeline;
  readonly status: Status;
  /** Settles when it has ended, however it does. */
  readonly ended: Promise<void>;
  /** Ends it, wherever it is. */
  stop(): void;
}

/** Starts a recording; `changed` is called whenever there is more of it. */
export function start(settings: Settings, changed: () => void, after?: Promise<void>): Recording {
  // Two stores at once would measure each other.
  if (isLive(settings)) return new LiveRecording(settings, changed, after);
  return new SimulatedRecording(settings, changed);
}
