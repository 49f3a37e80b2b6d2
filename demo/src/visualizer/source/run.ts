/** A run: what was set, what has happened so far, and how far it has come. */

import type { Timeline } from "../timeline/timeline.ts";
import { LiveRun } from "./live.ts";
import { isLive, type Settings } from "./settings.ts";
import { SimulatedRun } from "./simulation.ts";

/** How far a run has come. */
export type Status =
  { at: "running"; share: number } | { at: "ended" } | { at: "failed"; error: string };

/** A run that goes on by itself until it is stopped. */
export interface Run {
  readonly settings: Settings;
  readonly timeline: Timeline;
  readonly status: Status;
  /** Settles when it has ended, however it does. */
  readonly ended: Promise<void>;
  /** Ends it, wherever it is. */
  stop(): void;
}

/** Starts a run; `changed` is called whenever there is more of it. */
export function start(settings: Settings, changed: () => void, after?: Promise<void>): Run {
  // Two stores at once would measure each other.
  if (isLive(settings)) return new LiveRun(settings, changed, after);
  return new SimulatedRun(settings, changed);
}
