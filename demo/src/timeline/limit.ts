/** Limit of a store at a moment: what keeps it from taking more writes. */

import { backgroundAt, movedBytes, WINDOW } from "./background.ts";
import { endsByFlush } from "./stall.ts";
import type { Timeline } from "./timeline.ts";

/** Share of the time from which on something counts as busy. */
const BUSY = 0.9;

/** Speeds of a device, in bytes a second. */
export interface Speeds {
  read: number;
  write: number;
}

/** Limit of a store. */
export interface Limit {
  by: "device" | "workers" | "one-merge" | "flush" | "nothing";
  /** Share of the last second for which workers merged, on average, and the number of workers. */
  merged: number;
  workers: number;
  /** Share of it that the device would need for the bytes that moved, where its speeds are known. */
  device: number | undefined;
}

/** Returns the limit at a moment, with `workers` workers at least. */
export function limitAt(
  timeline: Timeline,
  micros: number,
  workers: number,
  speeds: Speeds | undefined,
): Limit {
  const { workers: shares } = backgroundAt(timeline, micros, workers);
  const merged = shares.reduce((sum, share) => sum + share, 0) / Math.max(shares.length, 1);
  const device = speeds && deviceShare(timeline, micros, speeds);
  const limit = { merged, workers: shares.length, device };
  const { stall, groups } = timeline.at(micros);
  const running = groups.filter(({ moved }) => !moved).length;
  if (device !== undefined && device >= BUSY) return { by: "device", ...limit };
  if (shares.length > 0 && merged >= BUSY) return { by: "workers", ...limit };
  if (stall === null) return { by: "nothing", ...limit };
  if (endsByFlush(stall.reason) && running < Math.max(shares.length, 1))
    return { by: "flush", ...limit };
  if (running === 1 && shares.length > 1) return { by: "one-merge", ...limit };
  return { by: running >= shares.length ? "workers" : "nothing", ...limit };
}

function deviceShare(timeline: Timeline, micros: number, { read, write }: Speeds): number {
  const from = Math.max(micros - WINDOW, 0);
  const before = movedBytes(timeline, timeline.at(from), from);
  const after = movedBytes(timeline, timeline.at(micros), micros);
  const moved = (of: keyof typeof after) => Math.max(after[of] - before[of], 0);
  const seconds = moved("read") / read + (moved("flushed") + moved("written")) / write;
  return (seconds * 1e6) / Math.max(micros - from, 1);
}
