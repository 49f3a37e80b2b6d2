/**
 * A recording as a function of time.
 *
 * 1. Events are only appended, in the order of their times.
 * 2. A state is kept for every 256 events; states share the tables that did not change.
 * 3. The state at a moment is that of the key frame before it, with the events since then: the same
 *    whether the moment is reached forward, backward or at once.
 */

import type { RecordedEvent } from "./events.ts";
import { History } from "./history.ts";
import { Progress } from "./progress.ts";
import { reduce } from "./reduce.ts";
import { search } from "./search.ts";
import { EMPTY, type State } from "./state.ts";

/** Events between two key frames. */
const KEY_FRAME_EVENTS = 256;

/** The events of one recording, and its states. */
export class Timeline {
  /** History of the whole. */
  readonly history: History = new History();
  /** Progress of merges between events. */
  readonly progress: Progress = new Progress();
  readonly #events: RecordedEvent[] = [];
  /** The state before each 256th event. */
  readonly #frames: State[] = [EMPTY];
  /** The state after all events. */
  #end: State = EMPTY;
  /** The state that was asked for last, and the number of events before it. */
  #last: { state: State; count: number } = { state: EMPTY, count: 0 };

  /** The number of events. */
  get length(): number {
    return this.#events.length;
  }

  /** The time of the last event, in microseconds. */
  get duration(): number {
    return this.#end.micros;
  }

  /** The state after all events. */
  get end(): State {
    return this.#end;
  }

  /** The event at a position. */
  event(position: number): RecordedEvent | undefined {
    return this.#events[position];
  }

  /** The events from one position up to another. */
  events(from: number, to: number): RecordedEvent[] {
    return this.#events.slice(Math.max(from, 0), to);
  }

  /** Appends events, which are not older than those before. */
  append(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      this.#end = reduce(this.#end, event);
      this.#events.push(event);
      this.history.note(event, this.#end);
      this.progress.note(event);
      if (this.#events.length % KEY_FRAME_EVENTS === 0) this.#frames.push(this.#end);
    }
  }

  /** Returns the state after `count` events. */
  after(count: number): State {
    const end = Math.min(Math.max(count, 0), this.#events.length);
    const frame = Math.floor(end / KEY_FRAME_EVENTS);
    const near = this.#last.count <= end && this.#last.count >= frame * KEY_FRAME_EVENTS;
    let from = near ? this.#last.count : frame * KEY_FRAME_EVENTS;
    let state = near ? this.#last.state : (this.#frames[frame] ?? EMPTY);
    for (; from < end; from++) {
      const event = this.#events[from];
      if (event !== undefined) state = reduce(state, event);
    }
    this.#last = { state, count: end };
    return state;
  }

  /** The number of events up to a time, in microseconds. */
  countAt(micros: number): number {
    return search(this.#events.length, (i) => (this.#events[i]?.micros ?? 0) <= micros);
  }

  /** The state at a time. */
  at(micros: number): State {
    return this.after(this.countAt(micros));
  }

  /** The position of the next event of a type after a position, or before it, if there is one. */
  find(type: RecordedEvent["type"], from: number, step: 1 | -1): number | undefined {
    for (let i = from; i >= 0 && i < this.#events.length; i += step) {
      if (this.#events[i]?.type === type) return i;
    }
    return undefined;
  }

  /** The time of the next event after a time, or before it, if there is one; or of the next of a type. */
  neighbour(micros: number, step: 1 | -1, type?: RecordedEvent["type"]): number | undefined {
    const after = this.countAt(micros);
    let position: number | undefined = step > 0 ? after : after - 1;
    // Steps over events of the same time, such as the one that was stepped to, and those that change no tree.
    const isPassed = (event: RecordedEvent | undefined) =>
      event !== undefined && (event.micros === micros || event.type === "operations");
    while (position >= 0 && isPassed(this.event(position))) position += step;
    if (type !== undefined) position = this.find(type, position, step);
    return position === undefined ? undefined : this.event(position)?.micros;
  }

  /** The states at key frames, oldest first, and the last one. */
  *keyFrames(): Generator<State> {
    yield* this.#frames;
    yield this.#end;
  }
}
