/** Recordings beside each other: which moment of one belongs to a moment of the other. */

import { type Bands, bandsOf } from "../layout/bands.ts";
import type { Recording, Takeover } from "../source/recording.ts";

/**
 * How much is known of a recording, for what holds for all of it: it grows when its length has doubled, and
 * when it has ended.
 */
export function knownOf({ timeline, status }: Recording): number {
  return status.at === "running" ? Math.ceil(Math.log2(timeline.length + 1)) : Infinity;
}

/** The bands of recordings, kept while no more is known of a recording and it is drawn alike. */
export class BandsByRecording {
  readonly #found = new WeakMap<Recording, { drawn: string; bands: Bands }>();

  of(recording: Recording, height: number, options: Parameters<typeof bandsOf>[2]): Bands {
    const drawn = JSON.stringify([knownOf(recording), height, options]);
    const found = this.#found.get(recording);
    if (found?.drawn === drawn) return found.bands;
    const bands = bandsOf(recording.timeline.keyFrames(), height, options);
    this.#found.set(recording, { drawn, bands });
    return bands;
  }
}

/** A moment of a recording, and whether the recording has come so far that nothing of it will change. */
export interface Moment {
  micros: number;
  reached: boolean;
}

/**
 * When a rival has accepted as much as the recording that is shown had at a moment, or its end. Until it
 * takes over that recording's tree, it is the same.
 */
export function momentBeside(
  rival: Recording,
  { recording: shown, takeover }: { recording: Recording; takeover: Takeover | undefined },
  micros: number,
): Moment {
  if (takeover !== undefined && micros <= takeover.at) return sameMoment(rival, micros);
  const accepted = shown.timeline.history.acceptedAt(micros);
  const found = rival.timeline.history.momentOf(accepted);
  // How much of a memtable is filled is known once it is sealed: what was accepted before says too little.
  const reached = found !== undefined || rival.status.at !== "running";
  return { micros: found ?? rival.timeline.duration, reached };
}

/** The same moment of a recording. */
export function sameMoment({ timeline, status }: Recording, micros: number): Moment {
  return { micros, reached: status.at !== "running" || timeline.duration > micros };
}

/** By how much a value is above another, or below it; without a sign where that shows as nothing. */
export function difference(value: number, from: number, text: (value: number) => string): string {
  const size = text(Math.abs(value - from));
  if (size === text(0)) return `±${size}`;
  return `${value > from ? "+" : "−"}${size}`;
}
