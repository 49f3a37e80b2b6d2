/** The pace of reading: time runs from decision to decision, and holds at each while its reason is read. */

import type { RecordedEvent } from "../timeline/events.ts";
import type { Timeline } from "../timeline/timeline.ts";

/** Time of the visitor from one decision to the next, in microseconds, where the speeds below allow it. */
const APPROACH = 1.5e6;
/** That time for a new visitor, in microseconds, and the time for which nothing moves at first, in milliseconds. */
const [CALM_APPROACH, REST] = [5e6, 4000];
/** Seconds of a recording in a second of a new visitor before the first decision: nothing rises or glides for long. */
const CALM_SPEED = 0.1;
/** Seconds of a recording in a second of the visitor on the way. */
const [SLOWEST, FASTEST] = [0.02, 4];

/** Events that are explained to a new visitor the first time, since a flush or a move may follow no decision. */
const EXPLANATIONS: Record<string, { sentence: string; is: (event: RecordedEvent) => boolean }> = {
  flush: {
    sentence: "A flush: the memtable was full, and is written as a table of level 0.",
    is: ({ type }) => type === "flushed",
  },
  move: {
    sentence: "A trivial move: these tables overlap none below, so they move down unread.",
    is: (event) => event.type === "group-installed" && event.moved,
  },
};

/** Time for which a reason is held, in milliseconds: a sentence, and the comparisons beside it. */
function readingTime(reason: string): number {
  return 1200 + reason.split(" ").length * 150;
}

/** A step of time. */
export interface Step {
  cursor: number;
  /** Whether the cursor has arrived: at a decision, or at the end. */
  arrived: boolean;
  /** Whether no decision follows. */
  last: boolean;
}

/** Moves through a recording. Times of the page are in milliseconds, those of recordings in microseconds. */
export class ReadingPace {
  /** Seconds of the recording in a second of the visitor, up to the next decision. */
  speed = 1;
  #calm = false;
  #rested = false;
  #heldUntil = 0;
  /** Explanation of what is held now, if it is no decision. */
  explanation: string | undefined;
  readonly #unexplained = new Set(Object.values(EXPLANATIONS));

  /** Makes time rest at first, and pass more slowly. */
  set calm(calm: boolean) {
    this.#calm = calm;
    if (calm && !this.#rested) this.speed = CALM_SPEED;
  }

  /** Returns the step of a frame, or undefined while a decision is held. */
  step(
    timeline: Timeline,
    cursor: number,
    end: number,
    now: number,
    passed: number,
  ): Step | undefined {
    if (this.#calm && !this.#rested) {
      this.#rested = true;
      this.#heldUntil = now + REST;
    }
    if (now < this.#heldUntil) return undefined;
    const next = this.#next(timeline, cursor);
    const until = next?.micros ?? end;
    if (this.#heldUntil !== 0) {
      this.#heldUntil = 0;
      const approach = this.#calm ? CALM_APPROACH : APPROACH;
      this.speed = Math.min(Math.max((until - cursor) / approach, SLOWEST), FASTEST);
    }
    const to = Math.min(cursor + passed * 1000 * this.speed, until);
    const arrived = to === until;
    this.explanation = undefined;
    if (arrived && next?.type === "compaction-begun")
      this.#heldUntil = now + readingTime(next.reason);
    else if (arrived && next !== undefined) {
      const found = [...this.#unexplained].find(({ is }) => is(next));
      if (found !== undefined) {
        this.#unexplained.delete(found);
        this.explanation = found.sentence;
        this.#heldUntil = now + readingTime(found.sentence);
      }
    }
    return { cursor: to, arrived, last: next === undefined };
  }

  /** Returns the next decision, or an event before it that is explained. */
  #next(timeline: Timeline, cursor: number): RecordedEvent | undefined {
    const from = timeline.countAt(cursor);
    const at = timeline.find("compaction-begun", from, 1);
    if (this.#calm) {
      for (let i = from; i < (at ?? timeline.length); i++) {
        const event = timeline.event(i);
        if (event !== undefined && [...this.#unexplained].some(({ is }) => is(event))) return event;
      }
    }
    return at === undefined ? undefined : timeline.event(at);
  }
}
