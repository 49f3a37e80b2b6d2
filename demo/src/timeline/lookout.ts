/**
 * The search for a moment in a recording that grows. All events are looked at again only once there are a quarter more,
 * or no more follow: so the whole search costs a few times what one over the whole recording does.
 */

import { type Sight, type SightName, sightOf } from "./sights.ts";
import type { Timeline } from "./timeline.ts";

/** Growth after which a recording is searched again. */
const GROWTH = 1.25;

/** A search for the first moment of a kind. */
export class Lookout {
  readonly name: SightName;
  /** Events at the last search. */
  #searched = -1;

  constructor(name: SightName) {
    this.name = name;
  }

  /** Returns the moment if a search finds it now; `running` says whether events may follow. */
  look(timeline: Timeline, running: boolean): Sight | undefined {
    const { length } = timeline;
    if (length === this.#searched || (running && length < this.#searched * GROWTH))
      return undefined;
    this.#searched = length;
    return sightOf(timeline, this.name);
  }
}
