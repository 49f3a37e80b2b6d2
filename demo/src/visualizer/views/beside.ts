/** Recordings beside each other: which moment of one belongs to a moment of the other. */

import { type Bands, bandsOf } from "../layout/bands.ts";
import type { Recording } from "../source/recording.ts";
import type { State } from "../timeline/state.ts";

/**
 * How much is known of a recording, for what holds for all of it: it grows when its length has doubled, and
 * when it has ended.
 */
export function knownOf({ timeline, status }: Recording): number {
  return status.at === "running" ? Math.ceil(Math.log2(timeline.length + 1)) : Infinity;
}

/** The bands of recordings, as long as no more is known of them and their height stays. */
export class BandsByRecording {
  readonly #found = new WeakMap<Recording, { known: number; height: number; bands: Bands }>();

  of(recording: Recording, height: number, small: boolean): Bands {
    const known = knownOf(recording);
    const found = this.#found.get(recording);
    if (found?.known === known && found.height === height) return found.bands;
    const bands = bandsOf(recording.timeline.keyFrames(), height, small);
    this.#found.set(recording, { known, height, bands });
    return bands;
  }
}

/** The state of a rival when it has accepted as much as the recording that is shown. */
export function beside({ timeline }: Recording, { totals }: State): State {
  return timeline.after(timeline.countAtAccepted(totals.accepted));
}

/** Whether a recording has not come as far as the one that is shown. */
export function behind({ status }: Recording, state: State, own: State): boolean {
  return status.at === "running" && state.totals.accepted < own.totals.accepted;
}

/** By how much a value is above another, or below it. */
export function difference(value: number, from: number, text: (value: number) => string): string {
  const sign = value >= from ? "+" : "−";
  return `${sign}${text(Math.abs(value - from))}`;
}
