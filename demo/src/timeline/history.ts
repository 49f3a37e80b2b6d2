/** History of a whole recording for the ribbon: fullness of levels, writes, waits, work. */

import type { StallReason } from "terrane";
import { type Amplification, amplificationOf } from "./amplification.ts";
import { Elapsed } from "./elapsed.ts";
import type { RecordedEvent } from "./events.ts";
import { search } from "./search.ts";
import { fullness, levelBytes, type State } from "./state.ts";

/** A moment between two changes, of which neither a merge's progress nor a sample of operations is one. */
export interface Sample {
  micros: number;
  /** By level: what it holds by what it may hold; null where that is not bounded. */
  fullness: readonly (number | null)[];
  /** By level. */
  bytes: readonly number[];
  accepted: number;
  written: number;
  amplification: Amplification;
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

/** A memtable that was sealed. */
export interface Seal {
  micros: number;
  bytes: number;
  /** Accepted with it. */
  accepted: number;
}

/** A wait of writes. */
export interface Wait extends Span {
  reason: StallReason;
}

/** Number of installed groups: merged ones, and moves. */
export interface Installed {
  merges: number;
  moves: number;
}

/** The history of a recording, as far as it is known. */
export class History {
  readonly samples: Sample[] = [];
  readonly works: Work[] = [];
  readonly waits: Wait[] = [];
  /** Times at which each lane had a group. */
  readonly busy: Elapsed[] = [];
  /** Times at which writes waited or slowed down, by reason. */
  readonly stalls: Map<StallReason, Elapsed> = new Map();
  readonly slowdowns: Map<StallReason, Elapsed> = new Map();
  /** Times at which memtables were sealed, with their bytes. */
  readonly seals: Seal[] = [];
  /** Times of power failures, in microseconds. */
  readonly failures: number[] = [];
  /** Times at which groups were installed, in microseconds: those that were merged, and those that only moved. */
  readonly #merges: number[] = [];
  readonly #moves: number[] = [];
  /** Times of decisions, in microseconds. */
  readonly decisions: number[] = [];
  readonly #running: Work[] = [];

  /** The most groups at once. */
  get lanes(): number {
    return this.busy.length;
  }

  /** The number of decisions up to a moment. */
  decisionsAt(micros: number): number {
    return search(this.decisions.length, (i) => (this.decisions[i] ?? 0) <= micros);
  }

  /**
   * About how full the active memtable is at a moment: it fills evenly from one seal to the next. Undefined
   * where the next one is not known.
   */
  memtableAt(micros: number): { bytes: number; share: number } | undefined {
    const at = search(this.seals.length, (i) => (this.seals[i]?.micros ?? 0) <= micros);
    const [last, next] = [this.seals[at - 1]?.micros ?? 0, this.seals[at]];
    if (next === undefined) return undefined;
    const share = (micros - last) / (next.micros - last);
    return { bytes: next.bytes * share, share };
  }

  /** The sample of the last change up to a moment, other than a merge's progress; undefined before the first. */
  sampleAt(micros: number): Sample | undefined {
    return this.samples[
      search(this.samples.length, (i) => (this.samples[i]?.micros ?? 0) <= micros) - 1
    ];
  }

  /** The groups that were installed after one moment and up to another. */
  installedIn(from: number, to: number): Installed {
    return { merges: countIn(this.#merges, from, to), moves: countIn(this.#moves, from, to) };
  }

  /** About how many bytes were accepted by a moment: those in the active memtable. */
  acceptedAt(micros: number): number {
    const at = search(this.seals.length, (i) => (this.seals[i]?.micros ?? 0) <= micros);
    return (this.seals[at - 1]?.accepted ?? 0) + (this.memtableAt(micros)?.bytes ?? 0);
  }

  /** Returns the time at which this number of bytes was accepted; undefined if fewer are known. */
  momentOf(accepted: number): number | undefined {
    const at = search(this.seals.length, (i) => (this.seals[i]?.accepted ?? 0) <= accepted);
    const [last, next] = [this.seals[at - 1], this.seals[at]];
    if (next === undefined) return undefined;
    const [from, before] = [last?.micros ?? 0, last?.accepted ?? 0];
    return from + ((accepted - before) / next.bytes) * (next.micros - from);
  }

  /** Notes an event and the state after it. */
  note(event: RecordedEvent, state: State): void {
    const { micros } = event;
    switch (event.type) {
      case "merge-progress":
      case "operations":
      case "waits":
        return;
      case "shape":
      case "detached":
      case "power-failed": {
        if (event.type === "power-failed") this.failures.push(micros);
        // What went on before is not heard of again.
        for (const work of this.#running.splice(0)) work.to = micros;
        const wait = this.waits.at(-1);
        if (wait !== undefined) wait.to ??= micros;
        const elapsed = [...this.busy, ...this.stalls.values(), ...this.slowdowns.values()];
        for (const one of elapsed) one.end(micros);
        break;
      }
      case "memtable-sealed":
        this.seals.push({ micros, bytes: event.bytes, accepted: state.totals.accepted });
        break;
      case "compaction-begun":
        this.decisions.push(micros);
        break;
      case "group-begun":
        if (!event.moved) this.#begin(event);
        break;
      case "group-installed":
        this.#end(event.compaction, event.inputs[0] ?? 0, micros);
        (event.moved ? this.#moves : this.#merges).push(micros);
        break;
      case "group-abandoned":
        this.#end(event.compaction, event.group, micros);
        break;
      case "stalled":
        this.waits.push({ from: micros, to: undefined, reason: event.reason });
        elapsedOf(this.stalls, event.reason).begin(micros);
        break;
      case "stall-ended": {
        const wait = this.waits.at(-1);
        if (wait !== undefined) wait.to = micros;
        elapsedOf(this.stalls, event.reason).end(micros);
        break;
      }
      case "slowdown-begun":
        elapsedOf(this.slowdowns, event.reason).begin(micros);
        break;
      case "slowdown-ended":
        elapsedOf(this.slowdowns, event.reason).end(micros);
        break;
      default:
    }
    this.samples.push({
      micros,
      amplification: amplificationOf(state),
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
    const { micros, compaction, inputs, level } = event;
    (this.busy[lane] ??= new Elapsed()).begin(micros);
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
    for (const work of this.#running.splice(at, 1)) {
      work.to = micros;
      this.busy[work.lane]?.end(micros);
    }
  }
}

/** Returns the number of these times that lie after `from`, and not after `to`. */
function countIn(times: readonly number[], from: number, to: number): number {
  const until = (micros: number) => search(times.length, (i) => (times[i] ?? 0) <= micros);
  return until(to) - until(from);
}

function elapsedOf(all: Map<StallReason, Elapsed>, reason: StallReason): Elapsed {
  let found = all.get(reason);
  if (found === undefined) all.set(reason, (found = new Elapsed()));
  return found;
}
