/** The tracks of the ribbon, from the top: where they lie, and what a column of pixels shows. */

import type { Sample } from "../timeline/history.ts";

/** Heights of tracks, in pixels. */
const FULLNESS = 13;
const AMPLIFICATION = 30;
const WAITS = 11;
const LANE = 8;
const GAP = 4;

/** A track. */
export interface Track {
  name: "fullness" | "amplification" | "waits" | "workers" | "ticks";
  /** The level of a track of fullness. */
  level: number;
  top: number;
  height: number;
}

/** Room: for all tracks, for some, or for the fullness of levels. */
export type Room = "all" | "some" | "little";

/** Returns the tracks of a run with these numbers of levels and busy workers. */
export function tracksOf(levels: number, lanes: number, room: Room = "all"): Track[] {
  const tracks: Track[] = [];
  let top = 2;
  const add = (name: Track["name"], height: number, level = 0, gap = GAP) => {
    tracks.push({ name, level, top, height });
    top += height + gap;
  };
  for (let level = 0; level < levels; level++) add("fullness", FULLNESS, level, 2);
  if (room === "little") return tracks;
  if (room === "all") add("amplification", AMPLIFICATION);
  add("waits", WAITS);
  if (room === "all") add("workers", Math.max(Math.min(lanes, 8), 1) * LANE);
  add("ticks", 14);
  return tracks;
}

/** The height of all tracks. */
export function tracksHeight(tracks: readonly Track[]): number {
  const last = tracks.at(-1);
  return last === undefined ? 0 : last.top + last.height;
}

/** The sample that holds in each column: the last one up to its time. */
export function columns(samples: readonly Sample[], duration: number, width: number): Sample[] {
  const found: Sample[] = [];
  let at = 0;
  for (let x = 0; x < width; x++) {
    const until = ((x + 1) / width) * duration;
    while (at + 1 < samples.length && (samples[at + 1]?.micros ?? 0) <= until) at += 1;
    const sample = samples[at];
    if (sample !== undefined) found.push(sample);
  }
  return found;
}

/** A step in seconds between two ticks, of which a duration has some eight. */
export function tickStep(duration: number): number {
  const about = duration / 8;
  const unit = 10 ** Math.floor(Math.log10(Math.max(about, 1e-6)));
  return unit * ([1, 2, 5, 10].find((part) => part * unit >= about) ?? 10);
}
