/** The path of one read, of a key or of a range's first: the places that it asks, newest first, and what each says. */

import type { Step } from "terrane";
import { compareKeys } from "../timeline/key-order.ts";

/** Key to read. */
export type Wanted =
  /** This key, or the next one on disk from there on. */
  | { by: "key"; key: Uint8Array; next: boolean }
  /** Any that a filter is wrong about. */
  | { by: "wrong-filter" };

/** Range to scan, from either end. */
export interface Range {
  gte?: string;
  lte?: string;
  reverse: boolean;
}

/** A read of a key at a moment. */
export interface ReadPath {
  key: Uint8Array;
  /** Time in microseconds. */
  micros: number;
  places: Place[];
  /** Result of the read on an engine; a simulation has no values. */
  answer?: Answer;
}

/** Result of a get. */
export interface Answer {
  value: Uint8Array | undefined;
  /** Duration of the get, in milliseconds. */
  milliseconds: number;
}

/**
 * Answer of a place. `no`: a filter or a memtable, without a block. `wasted`: a block was read, and the
 * key was not there. `operand`: what changes an older value is there, so older places are asked as well.
 * `stands`: a scan's cursor is at a later key, or at none.
 */
export type Verdict = "no" | "wasted" | "found" | "operand" | "deleted" | "newer" | "stands";

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
  /** Bytes that were read from disk for them. */
  bytesRead: number;
  /** The write that was found. */
  sequence: number | undefined;
  /** The time at which the value that was found has expired, in milliseconds since the epoch. */
  expiredAt?: number;
  /** The key at which a scan's cursor stands, or null if there is none; undefined for a get. */
  stands: Uint8Array | null | undefined;
  verdict: Verdict;
}

/** A place of which nothing is known. */
const UNKNOWN = {
  level: -1,
  run: 0,
  table: undefined,
  filter: undefined,
  bytesRead: 0,
  sequence: undefined,
  stands: undefined,
  verdict: "no",
} as const;

/**
 * The places of a trace. Runs of which no table covers the key are not asked, and left out; a scan moves on to
 * their next table.
 */
export function placesOf(steps: readonly Step[]): Place[] {
  const places: Place[] = [];
  let place: Place | undefined;
  let run = { level: -1, run: 0 };
  const enter = (more: Partial<Place>) => {
    place = { ...UNKNOWN, blocks: [], ...more };
    places.push(place);
  };
  for (const step of steps) {
    if (step.step === "memtable") enter({ memtable: step.place });
    else if (step.step === "run") {
      place = undefined;
      run = { level: step.level, run: step.run };
      if (step.table !== null) enter({ ...run, table: step.table });
    } else if (step.step === "table") {
      if (place === undefined) enter({ ...run, table: step.table });
      else place.table = step.table;
    } else if (step.step === "row") markFirst(places, step.key);
    else if (place !== undefined) addStep(place, step);
  }
  return places;
}

function addStep(place: Place, step: Step): void {
  if (step.step === "filter") place.filter = step.mayContain;
  else if (step.step === "block") {
    place.blocks.push(step.origin === "vfs" ? "disk" : "cache");
    place.bytesRead += step.read;
  } else if (step.step === "value" || step.step === "tombstone") {
    place.verdict = step.step === "value" ? "found" : "deleted";
    place.sequence = step.sequence;
  } else if (step.step === "operand") {
    place.verdict = "operand";
    place.sequence = step.sequence;
  } else if (step.step === "expired") {
    // It hides older versions as a tombstone does.
    place.verdict = "deleted";
    place.expiredAt = step.at;
  } else if (step.step === "newer") place.verdict = "newer";
  else if (step.step === "absent") place.verdict = place.blocks.length > 0 ? "wasted" : "no";
  else if (step.step === "stands") {
    place.verdict = "stands";
    place.stands = step.key;
  }
}

/** The newest place whose cursor stands at a scan's first key has its entry. */
function markFirst(places: readonly Place[], key: Uint8Array): void {
  const first = places.find(({ stands }) => stands && compareKeys(stands, key) === 0);
  if (first !== undefined) first.verdict = "found";
}
