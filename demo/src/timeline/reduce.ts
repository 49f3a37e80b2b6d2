/** Effects of events on the state. */

import type { Table } from "terrane";
import type { RecordedEvent } from "./events.ts";
import { compareKeys } from "./key-order.ts";
import { shifted, worked } from "./level-work.ts";
import { withInterval } from "./operations.ts";
import { search } from "./search.ts";
import {
  type Arrival,
  bytesOf,
  type Compaction,
  EMPTY,
  type Group,
  type PlacedLevel,
  type PlacedTable,
  type State,
  tablesOf,
} from "./state.ts";

type Of<T extends RecordedEvent["type"]> = Extract<RecordedEvent, { type: T }>;

/** The state after an event. */
export function reduce(before: State, event: RecordedEvent): State {
  const state = { ...before, micros: event.micros };
  switch (event.type) {
    case "header":
      return { ...state, header: event, policy: event.policy ?? null };
    case "shape":
      return attached(state, event);
    case "detached":
      return detached(state);
    case "waits":
      return { ...state, waits: event.waits };
    case "live-bytes":
      return { ...state, liveBytes: event.bytes };
    case "operations":
      return { ...state, operations: withInterval(state.operations, event) };
    case "power-failed":
      return recovered(state, event);
    case "memtable-sealed": {
      const accepted = state.totals.accepted + event.bytes;
      const totals = { ...state.totals, accepted };
      return { ...state, totals, sealed: [...state.sealed, event.bytes] };
    }
    case "flushed":
      return flushed(state, event);
    case "compaction-begun":
      return begun(state, event);
    case "group-begun":
      return { ...state, groups: [...state.groups, groupOf(state, event)] };
    case "merge-progress": {
      const { micros, readBytes, writtenBytes, totalBytes } = event;
      const groups = state.groups.map((group) =>
        isGroup(group, event.compaction, event.group)
          ? { ...group, readBytes, writtenBytes, totalBytes, toldAt: micros }
          : group,
      );
      return held({ ...state, groups }, event.compaction);
    }
    case "group-installed":
      return installed(state, event);
    case "group-abandoned": {
      const groups = state.groups.filter((group) => !isGroup(group, event.compaction, event.group));
      return { ...state, groups };
    }
    case "compaction-ended": {
      const compactions = state.compactions.filter(({ id }) => id !== event.compaction);
      return { ...state, compactions };
    }
    case "level-changed": {
      const { change } = event;
      const levels =
        "add" in change
          ? state.levels.toSpliced(change.add, 0, { runs: [] })
          : state.levels.toSpliced(change.drop, 1);
      return { ...state, levels, levelWork: shifted(state.levelWork, change) };
    }
    case "policy-status":
      return { ...state, capacities: event.capacities, facts: event.facts };
    case "policy-changed":
      return { ...state, policy: event.policy };
    case "stalled":
      return { ...state, stall: { reason: event.reason, since: event.micros } };
    case "stall-ended": {
      const stalledMicros = state.stalledMicros + event.lastedMicros;
      return { ...state, stall: null, stalledMicros };
    }
    default:
      return state;
  }
}

/**
 * Returns the state of a process when this page is attached to it: nothing is known of its past.
 */
function attached(before: State, event: Of<"shape">): State {
  const { micros, policy = null, levels, capacities, facts, release, name, waits = null } = event;
  const placed = levels.map(({ runs }) => ({
    runs: runs.map(({ id, tables }) => ({
      id,
      tables: tables.map((table) => place(table, "merged", micros, 0, null)),
    })),
  }));
  // A process says what it is in its shape, a trace before.
  const header: State["header"] =
    release === undefined || name === undefined
      ? before.header
      : { type: "header", micros, release, keyspace: name, ...(policy && { policy }) };
  return { ...EMPTY, micros, policy, header, waits, levels: placed, capacities, facts };
}

/** Returns the state of a process after its last report: the tree of that moment, with nothing at work. */
function detached(state: State): State {
  const { stall, micros } = state;
  const waited = stall === null ? 0 : micros - stall.since;
  const stalledMicros = state.stalledMicros + waited;
  return { ...state, groups: [], compactions: [], stall: null, stalledMicros, detached: true };
}

/** Returns the state after a power failure: tables that were there before are the same. */
function recovered(state: State, event: Of<"power-failed">): State {
  const { micros, levels, sealed, capacities, facts } = event;
  const before = new Map(state.levels.flatMap(tablesOf).map((table) => [table.id, table]));
  const placed = levels.map(({ runs }) => ({
    runs: runs.map(({ id, tables }) => ({
      id,
      tables: tables.map((table) => ({
        ...(before.get(table.id) ?? place(table, "merged", micros, 0, null)),
        ...table,
      })),
    })),
  }));
  return {
    ...state,
    levels: placed,
    sealed: state.sealed.slice(Math.max(state.sealed.length - sealed, 0)),
    groups: [],
    compactions: [],
    capacities,
    facts,
    stall: null,
    stalledMicros: state.stalledMicros + (state.stall === null ? 0 : micros - state.stall.since),
    failure: event,
  };
}

function isGroup(group: Group, compaction: number, id: number): boolean {
  return group.compaction === compaction && group.id === id;
}

/** Notes how much a compaction's unfinished outputs take. */
function held(state: State, compaction: number): State {
  const written = state.groups
    .filter((group) => group.compaction === compaction)
    .reduce((sum, group) => sum + group.writtenBytes, 0);
  const note = (one: Compaction): Compaction =>
    one.id === compaction && written > one.heldTwice ? { ...one, heldTwice: written } : one;
  const latest = state.latest && note(state.latest);
  return { ...state, compactions: state.compactions.map(note), latest };
}

function flushed(state: State, { micros, run, tables }: Of<"flushed">): State {
  const placed = tables.map((table) => place(table, "flushed", micros, 0, null));
  // Of a memtable with nothing but range deletes there is no table.
  const levels = tables.length > 0 ? insert(state.levels, 0, run, placed) : state.levels;
  const written = bytesOf(tables);
  const totals = { ...state.totals, flushed: state.totals.flushed + written };
  const levelWork = worked(state.levelWork, 0, { writtenBytes: written, broughtBytes: written });
  return { ...state, levels, levelWork, totals, sealed: state.sealed.slice(1) };
}

function begun(state: State, event: Of<"compaction-begun">): State {
  const compaction: Compaction = {
    id: event.compaction,
    began: event.micros,
    groups: event.groups,
    groupsInstalled: 0,
    tablesMoved: 0,
    readBytes: 0,
    writtenBytes: 0,
    movedBytes: 0,
    downBytes: 0,
    heldTwice: 0,
    reason: event.reason,
    terms: event.terms,
  };
  return { ...state, compactions: [...state.compactions, compaction], latest: compaction };
}

function groupOf(state: State, event: Of<"group-begun">): Group {
  const { compaction, inputs, level, run, cuts, moved, micros } = event;
  const found = inputTables(state, inputs);
  const size = (tables: typeof found) => bytesOf(tables.map(({ table }) => table));
  return {
    compaction,
    id: inputs[0] ?? 0,
    inputs,
    level,
    run,
    cuts,
    moved,
    began: micros,
    readBytes: 0,
    totalBytes: size(found),
    downBytes: size(found.filter(({ depth }) => depth !== level)),
    writtenBytes: 0,
    toldAt: micros,
  };
}

/** The tables with these ids, as far as the tree has them, and their levels. */
function inputTables({ levels }: State, ids: readonly number[]) {
  const wanted = new Set(ids);
  const found: { table: PlacedTable; depth: number }[] = [];
  for (const [depth, { runs }] of levels.entries()) {
    for (const { tables } of runs) {
      for (const table of tables) {
        if (wanted.has(table.id) && found.push({ table, depth }) === wanted.size) return found;
      }
    }
  }
  return found;
}

function installed(state: State, event: Of<"group-installed">): State {
  const { compaction, inputs, level, run, outputs, moved, micros } = event;
  const taken = new Set(inputs);
  const levelOf = new Map<number, number>();
  let [readBytes, downBytes] = [0, 0];
  let { levelWork } = state;
  const left = state.levels.map((at, depth): PlacedLevel => {
    // Most levels have none of them, and stay as they are.
    if (levelOf.size === taken.size || !at.runs.some(({ tables }) => holds(tables, taken))) {
      return at;
    }
    let read = 0;
    const runs = at.runs.map((run) => {
      if (!holds(run.tables, taken)) return run;
      for (const table of run.tables) {
        if (!taken.has(table.id)) continue;
        levelOf.set(table.id, depth);
        read += table.bytes;
      }
      return { id: run.id, tables: run.tables.filter((table) => !taken.has(table.id)) };
    });
    readBytes += read;
    if (depth !== level) downBytes += read;
    if (!moved) levelWork = worked(levelWork, depth, { readBytes: read });
    return { runs: runs.filter(({ tables }) => tables.length > 0) };
  });
  const arrival = moved ? "moved" : "merged";
  const placed = outputs.map((table) =>
    place(table, arrival, micros, compaction, moved ? (levelOf.get(table.id) ?? null) : null),
  );
  const written = bytesOf(outputs);
  const totals = { ...state.totals };
  if (moved) {
    totals.moved += written;
    levelWork = worked(levelWork, level, { movedBytes: written });
  } else {
    totals.mergeRead += readBytes;
    totals.mergeWritten += written;
    const group = state.groups.find((one) => isGroup(one, compaction, inputs[0] ?? 0));
    const work = { writtenBytes: written, broughtBytes: downBytes };
    levelWork = worked(levelWork, level, { ...work, micros: micros - (group?.began ?? micros) });
  }
  const advance = (compaction: Compaction): Compaction => ({
    ...compaction,
    groupsInstalled: compaction.groupsInstalled + 1,
    tablesMoved: compaction.tablesMoved + (moved ? outputs.length : 0),
    movedBytes: compaction.movedBytes + (moved ? written : 0),
    readBytes: compaction.readBytes + (moved ? 0 : readBytes),
    downBytes: compaction.downBytes + (moved ? 0 : downBytes),
    writtenBytes: compaction.writtenBytes + (moved ? 0 : written),
  });
  return {
    ...state,
    levels: insert(left, level, run, placed),
    levelWork,
    groups: state.groups.filter((group) => !isGroup(group, compaction, inputs[0] ?? 0)),
    compactions: state.compactions.map((one) => (one.id === compaction ? advance(one) : one)),
    latest: state.latest?.id === compaction ? advance(state.latest) : state.latest,
    totals,
  };
}

function holds(tables: readonly PlacedTable[], ids: ReadonlySet<number>): boolean {
  return tables.some(({ id }) => ids.has(id));
}

function place(
  table: Table,
  arrival: Arrival,
  since: number,
  compaction: number,
  from: number | null,
): PlacedTable {
  return { ...table, arrival, since, compaction, from };
}

/** Adds tables to a run of a level; levels and run are created where there are none. */
function insert(
  levels: readonly PlacedLevel[],
  level: number,
  run: number,
  tables: readonly PlacedTable[],
): PlacedLevel[] {
  const next = [...levels];
  while (next.length <= level) next.push({ runs: [] });
  if (tables.length === 0) return next;
  const runs = [...(next[level]?.runs ?? [])];
  const sorted = tables.toSorted((a, b) => compareKeys(a.smallest, b.smallest));
  const at = runs.findIndex(({ id }) => id <= run);
  const found = at < 0 ? undefined : runs[at];
  if (found?.id === run) runs[at] = { id: run, tables: merged(found.tables, sorted) };
  else runs.splice(at < 0 ? runs.length : at, 0, { id: run, tables: sorted });
  next[level] = { runs };
  return next;
}

/** Two lists in key order as one; mostly the second lies in a gap of the first. */
function merged(a: readonly PlacedTable[], b: readonly PlacedTable[]): PlacedTable[] {
  const [first, last] = [b[0], b.at(-1)];
  if (first === undefined || last === undefined) return [...a];
  const at = search(a.length, (i) => before(a[i], first));
  const all = a.toSpliced(at, 0, ...b);
  const next = a[at];
  const fits = next === undefined || before(last, next);
  return fits ? all : all.sort((a, b) => compareKeys(a.smallest, b.smallest));
}

function before(a: PlacedTable | undefined, b: PlacedTable): boolean {
  return a !== undefined && compareKeys(a.smallest, b.smallest) < 0;
}
