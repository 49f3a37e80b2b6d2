/** What the ribbon shows of a whole recording: how full levels were, what was written, who waited, who worked. */

import type { StallReason } from "terrane";
import type { RecordedEvent } from "./events.ts";
import { fullness, levelBytes, type State } from "./state.ts";

/** A moment between two changes. */
export interface Sample {
  micros: number;
  /** By level: what it holds by what it may hold; null where that is not bounded. */
  fullness: readonly (number | null)[];
  /** By level. */
  bytes: readonly number[];
  accepted: number;
  written: number;
}

/** Something that lasted. */
export interface Span {
  from: number;
  /** Undefined while it lasts. */
  to: number | undefined;
}

/** A group at a worker, in the lane of the first worker that was free. */
export interface Work extends Span {
  compaction: number;
  group: number;
  level: number;
  lane: number;
}

/** A wait of writes. */
export interface Wait extends Span {
  reason: StallReason;
}

/** The history of a recording, as far as it is known. */
export class History {
  readonly samples: Sample[] = [];
  readonly works: Work[] = [];
  readonly waits: Wait[] = [];
  /** Times in which writes slowed down, so that they would not have to wait. */
  readonly slowdowns: Wait[] = [];
  /** Times of decisions, in microseconds. */
  readonly decisions: number[] = [];
  /** The most groups at once. */
  lanes = 0;
  readonly #running: Work[] = [];

  /** Notes an event and the state after it. */
  note(event: RecordedEvent, state: State): void {
    const { micros } = event;
    switch (event.type) {
      case "merge-progress":
        return;
      case "shape": {
        // What went on before is not heard of again.
        for (const work of this.#running.splice(0)) work.to = micros;
        const wait = this.waits.at(-1);
        if (wait !== undefined) wait.to ??= micros;
        break;
      }
      case "compaction-begun":
        this.decisions.push(micros);
        break;
      case "group-begun":
        if (!event.moved) this.#begin(event);
        break;
      case "group-installed":
        this.#end(event.compaction, event.inputs[0] ?? 0, micros);
        break;
      case "group-abandoned":
        this.#end(event.compaction, event.group, micros);
        break;
      case "stalled":
        this.waits.push({ from: micros, to: undefined, reason: event.reason });
        break;
      case "stall-ended": {
        const wait = this.waits.at(-1);
        if (wait !== undefined) wait.to = micros;
        break;
      }
      case "slowdown-begun":
        this.slowdowns.push({ from: micros, to: undefined, reason: event.reason });
        break;
      case "slowdown-ended": {
        const slowdown = this.slowdowns.at(-1);
        if (slowdown !== undefined) slowdown.to = micros;
        break;
      }
      default:
    }
    this.samples.push({
      micros,
      bytes: state.levels.map(levelBytes),
      fullness: state.levels.map((_, depth) => fullness(state, depth)),
      accepted: state.totals.accepted,
      written: state.totals.flushed + state.totals.mergeWritten,
    });
  }

  #begin(event: Extract<RecordedEvent, { type: "group-begun" }>): void {
    const taken = new Set(this.#running.map(({ lane }) => lane));
    let lane = 0;
    while (taken.has(lane)) lane += 1;
    this.lanes = Math.max(this.lanes, lane + 1);
    const { micros, compaction, inputs, level } = event;
    const group = inputs[0] ?? 0;
    const work = { from: micros, to: undefined, compaction, group, level, lane };
    this.#running.push(work);
    this.works.push(work);
  }

  #end(compaction: number, group: number, micros: number): void {
    const at = this.#running.findIndex(
      (one) => one.compaction === compaction && one.group === group,
    );
    if (at < 0) return;
    for (const work of this.#running.splice(at, 1)) work.to = micros;
  }
}
