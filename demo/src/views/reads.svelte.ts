/** The read that is shown in the picture and below it, place by place. */

import type { ReadPath } from "../source/read-path.ts";
import { messageOf } from "../message.ts";

/** The reads of one player. */
export class Reads {
  /** Whether keys are read. */
  active = $state(false);
  /** The read that is shown, how many of its places, and why there is none. */
  path: ReadPath | undefined = $state.raw(undefined);
  placesShown = $state(0);
  problem = $state("");

  /** Whether all places are shown. */
  get done(): boolean {
    return this.path !== undefined && this.placesShown >= this.path.places.length;
  }

  /** Shows a read's first places. */
  show(path: ReadPath, places: number = path.places.length): void {
    this.active = true;
    this.problem = "";
    this.path = path;
    this.placesShown = places;
  }

  /** Shows all places. */
  finish(): void {
    this.placesShown = this.path?.places.length ?? 0;
  }

  /** Reports why there is no read. */
  fail(error: unknown): void {
    this.problem = messageOf(error);
  }
}
