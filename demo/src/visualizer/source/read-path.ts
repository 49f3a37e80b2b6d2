/** The path of one read: the places that it asks, newest first, and what each says. */

import type { Step } from "terrane";

/** Key to read. */
export type Wanted =
  /** This key, or the next one on disk from there on. */
  | { by: "key"; key: Uint8Array; next: boolean }
  /** Any that a filter is wrong about. */
  | { by: "wrong-filter" };

/** A read of a key at a moment. */
export interface ReadPath {
  key: Uint8Array;
  /** Time in microseconds. */
  micros: number;
  places: Place[];
}

/**
 * What a place said. `no`: a filter or a memtable, without a block. `wasted`: a block was read, and the
 * key was not there.
 */
export type Verdict = "no" | "wasted" | "found" | "deleted" | "newer";

/** A memtable or a table that a read asks. */
export interface Place {
  /** 0 for the active memtable, and so on; undefined for a table. */
  memtable?: number;
  level: number;
  run: number;
  table: number | undefined;
  /** Answer of its filter; undefined without one. */
  filter: boolean | undefined;
  /** Sources of the blocks that were read of it. */
  blocks: ("cache" | "disk")[];
  verdict: Verdict;
}

/** The places of a trace. Runs whose tables do not cover the key are not asked, and left out. */
export function placesOf(steps: readonly Step[]): Place[] {
  const places: Place[] = [];
  let place: Place | undefined;
  const enter = (more: Partial<Place>) => {
    const empty = { level: -1, run: 0, table: undefined, filter: undefined, blocks: [] };
    place = { ...empty, verdict: "no", ...more };
    places.push(place);
  };
  for (const step of steps) {
    if (step.step === "memtable") enter({ memtable: step.place });
    else if (step.step === "run") {
      place = undefined;
      if (step.table !== null) enter({ level: step.level, run: step.run, table: step.table });
    } else if (place === undefined) continue;
    else if (step.step === "filter") place.filter = step.mayContain;
    else if (step.step === "block") place.blocks.push(step.origin === "vfs" ? "disk" : "cache");
    else if (step.step === "value") place.verdict = "found";
    else if (step.step === "tombstone") place.verdict = "deleted";
    else if (step.step === "newer") place.verdict = "newer";
    else if (step.step === "absent") place.verdict = place.blocks.length > 0 ? "wasted" : "no";
  }
  return places;
}
