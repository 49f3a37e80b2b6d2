/** A recording: what was set, what has happened so far, and how far it has come. */

import type { Timeline } from "../timeline/timeline.ts";
import { LiveRecording } from "./live.ts";
import type { Write } from "./operations.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import { isLive, type Settings } from "./settings.ts";
import { SimulatedRecording } from "./simulation.ts";

/** How far a recording has come; of one whose end is not known there is no share. */
export type Status =
  { at: "running"; share: number | undefined } | { at: "ended" } | { at: "failed"; error: string };

/** A recording that goes on by itself until it is stopped. */
export interface Recording {
  readonly settings: Settings;
  readonly timeline: Timeline;
  readonly status: Status;
  /** Settles when it has ended, however it does. */
  readonly ended: Promise<void>;
  /** Settles when it holds nothing any more, which is once it is stopped. */
  readonly closed: Promise<void>;
  /** Whether it reads at any moment, not only at its end. */
  readonly readsBack: boolean;
  /** Reads a key as at a moment, in microseconds. */
  read(wanted: Wanted, micros: number): Promise<ReadPath>;
  /** Ends it, wherever it is. */
  stop(): void;
}

/**
 * Starts a recording; `changed` is called whenever there is more of it. That of a rival, by its number,
 * is not kept open when it has ended. Where there are rows of the visitor's, these are written.
 */
export function start(
  settings: Settings,
  changed: () => void,
  after: Promise<void>,
  { rival = 0, rows }: { rival?: number; rows?: readonly Write[] | undefined } = {},
): Recording {
  // Two stores at work at once would measure each other.
  if (isLive(settings)) return new LiveRecording(settings, changed, after, rival, rows);
  return new SimulatedRecording(settings, changed);
}
