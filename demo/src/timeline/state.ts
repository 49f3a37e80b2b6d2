/** The state of a run at one moment: what its events so far add up to. It is never changed in place. */

import type { Capacity, Fact, PolicyOptions, StallReason, Table, Term } from "terrane";
import type { LevelWork } from "./level-work.ts";
import type { HeaderEvent, PowerFailedEvent, WaitsByReason } from "./events.ts";
import type { OperationsEvent } from "./operations.ts";

/** Way in which a table arrived. */
export type Arrival = "flushed" | "merged" | "moved";

/** A table at its place in the tree. */
export interface PlacedTable extends Table {
  arrival: Arrival;
  /** Time of its arrival, in microseconds. */
  since: number;
  /** The compaction that put it here, or 0 for a flush. */
  compaction: number;
  /** The level that it was moved from. */
  from: number | null;
}

/** A sorted run. */
export interface PlacedRun {
  id: number;
  /** In key order. */
  tables: readonly PlacedTable[];
}

/** A level, its newest run first. */
export interface PlacedLevel {
  runs: readonly PlacedRun[];
}

/** A group of tables that is being merged or moved. */
export interface Group {
  compaction: number;
  /** The group's first input, by which events name it. */
  id: number;
  inputs: readonly number[];
  /** The level and the run of its outputs. */
  level: number;
  run: number;
  cuts: readonly Uint8Array[];
  moved: boolean;
  began: number;
  /** Inputs read, all inputs, and inputs of other levels than its own, in bytes. */
  readBytes: number;
  totalBytes: number;
  downBytes: number;
  writtenBytes: number;
  /** Time of that report. */
  toldAt: number;
}

/** A compaction: what the policy decided, and how far it has come. */
export interface Compaction {
  id: number;
  began: number;
  groups: number;
  groupsInstalled: number;
  tablesMoved: number;
  readBytes: number;
  writtenBytes: number;
  movedBytes: number;
  /** Bytes read from another level than they went to. */
  downBytes: number;
  /** The most bytes of unfinished outputs at once: their inputs are on disk. */
  heldTwice: number;
  reason: string;
  terms: readonly Term[];
}

/** Bytes since the start. */
export interface Totals {
  /** Accepted from the application and sealed in memtables. */
  accepted: number;
  flushed: number;
  mergeRead: number;
  mergeWritten: number;
  moved: number;
}

/** A moment of a run. */
export interface State {
  /** Microseconds. */
  micros: number;
  levels: readonly PlacedLevel[];
  /** Work by level since the start; of a process, since this page was attached. */
  levelWork: readonly LevelWork[];
  /** Bytes of the sealed memtables, oldest first. */
  sealed: readonly number[];
  groups: readonly Group[];
  /** Those that have started and not ended, oldest first. */
  compactions: readonly Compaction[];
  /** The last one that was decided, running or not. */
  latest: Compaction | null;
  /** By level. */
  capacities: readonly Capacity[];
  facts: readonly Fact[];
  policy: PolicyOptions | null;
  /** The recording's header, if it has one. */
  header: HeaderEvent | null;
  /** Bytes of the newest versions of all live keys, where they are known. */
  liveBytes: number | null;
  /** Waits as the process itself counts them, where it reports them. */
  waits: WaitsByReason | null;
  /** Gets and writes of the last intervals, oldest first, where events sample them. */
  operations: readonly OperationsEvent[];
  /** Whether the process reports no more. */
  detached: boolean;
  stall: { reason: StallReason; since: number } | null;
  /** The last power failure. */
  failure: PowerFailedEvent | null;
  /** Time for which writes have waited, in microseconds. */
  stalledMicros: number;
  totals: Totals;
}

/** Before the first event. */
export const EMPTY: State = {
  micros: 0,
  levels: [],
  levelWork: [],
  sealed: [],
  groups: [],
  compactions: [],
  latest: null,
  capacities: [],
  facts: [],
  policy: null,
  header: null,
  liveBytes: null,
  waits: null,
  operations: [],
  detached: false,
  stall: null,
  failure: null,
  stalledMicros: 0,
  totals: { accepted: 0, flushed: 0, mergeRead: 0, mergeWritten: 0, moved: 0 },
};

/** All tables of a level. */
export function tablesOf(level: PlacedLevel | undefined): PlacedTable[] {
  return level?.runs.flatMap(({ tables }) => tables) ?? [];
}

/** The number of tables of a level. */
export function tableCount(level: PlacedLevel | undefined): number {
  return level?.runs.reduce((sum, { tables }) => sum + tables.length, 0) ?? 0;
}

/** Returns the number of tables of a tree. */
export function treeTables({ levels }: State): number {
  return levels.reduce((sum, level) => sum + tableCount(level), 0);
}

/** A table by its id, and its level. */
export function tableOf(
  { levels }: State,
  id: number | undefined,
): { table: PlacedTable; depth: number } | undefined {
  if (id === undefined) return undefined;
  for (const [depth, { runs }] of levels.entries()) {
    for (const { tables } of runs) {
      const table = tables.find((table) => table.id === id);
      if (table !== undefined) return { table, depth };
    }
  }
  return undefined;
}

/** The size of tables, in bytes. */
export function bytesOf(tables: readonly Table[]): number {
  return tables.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Sizes of levels, which most events leave as they are. */
const sizes = new WeakMap<PlacedLevel, number>();

/** The size of a level, in bytes. */
export function levelBytes(level: PlacedLevel | undefined): number {
  if (level === undefined) return 0;
  let size = sizes.get(level);
  if (size === undefined) {
    size = level.runs.reduce((sum, { tables }) => sum + bytesOf(tables), 0);
    sizes.set(level, size);
  }
  return size;
}

/**
 * What a level holds by what it may hold: in runs where it may have several, otherwise in bytes; null
 * where that is not bounded.
 */
export function fullness({ levels, capacities }: State, depth: number): number | null {
  const [level, capacity] = [levels[depth], capacities[depth]];
  if (level === undefined || capacity === undefined) return null;
  if (capacity.runs !== null && capacity.runs > 1) return level.runs.length / capacity.runs;
  return capacity.bytes === null ? null : levelBytes(level) / capacity.bytes;
}

/** The size of a tree, in bytes. */
export function treeBytes({ levels }: State): number {
  return levels.reduce((sum, level) => sum + levelBytes(level), 0);
}

/** Returns the bytes of a store: its tree, and outputs that are not whole yet. */
export function storeBytes(state: State): number {
  const unfinished = state.groups.filter(({ moved }) => !moved);
  return unfinished.reduce((sum, { writtenBytes }) => sum + writtenBytes, treeBytes(state));
}

/** The number of runs that hold tables. */
export function runCount({ levels }: State): number {
  return levels.reduce((sum, { runs }) => sum + runs.length, 0);
}

/** Bytes written to tables for each byte accepted; 0 before anything was accepted. */
export function writeAmplification({ totals }: State): number {
  return totals.accepted === 0 ? 0 : (totals.flushed + totals.mergeWritten) / totals.accepted;
}
