/**
 * Bounds of what a page shows, by its cost for the visitor's machine. A recording that would pass a bound is refused
 * before it starts; one from elsewhere, whose size is not known before, ends at the bound.
 */

import { bytes, count, plural } from "../format.ts";
import { type State, treeTables } from "../timeline/state.ts";
import { describe, isLive, type Settings, valueOf } from "./settings.ts";

/**
 * The most bytes of values that a recording writes: on the engine, as the visitor's storage is not ours to fill;
 * simulated, as a page holds its events.
 */
export const BYTES_MAX = { live: 2 ** 30, simulated: 2 ** 33 } as const;

/** The most tables of a tree: each is placed and drawn, and looked at by each event that takes tables away. */
export const TABLES_MAX = 20_000;

/** The most tables that a recording makes in all: each stands in its events. */
export const MADE_MAX = 500_000;

/** The most characters of all events of a recording. */
export const EVENTS_MAX = 2 ** 29;

/** The most characters of an event, of which one stands on a line of a trace. */
export const LINE_MAX = 2 ** 25;

/** Bytes of a key of a workload. */
const KEY_BYTES = 16;

/** Times that a byte is written again below, under most policies: how many tables a recording makes follows from it. */
const REWRITTEN = 8;

/** Estimate of a recording before it is made. */
export interface Estimate {
  /** Bytes of values. */
  bytes: number;
  /** Tables of the tree at its end, and tables made in all. */
  tables: number;
  made: number;
  /** Bytes of a table. */
  tableBytes: number;
}

/** Estimates a recording by its settings. */
export function estimate(settings: Settings): Estimate {
  const { load, operations, valueBytes } = settings;
  const size = describe(settings.policy)?.parameters.find(({ name }) => name === "targetFileBytes");
  const asked = size === undefined ? Number.NaN : Number(valueOf(settings, size));
  const entry = KEY_BYTES + valueBytes;
  // A table has an entry at least.
  const tableBytes = Math.max(asked > 0 ? asked : entry, entry);
  const added = settings.workload === "ascending" ? operations : 0;
  const tablesOf = (entries: number) => Math.ceil((entries * entry) / tableBytes);
  return {
    bytes: (load + operations) * valueBytes,
    tables: tablesOf(load + added),
    made: tablesOf(load + operations) * REWRITTEN,
    tableBytes,
  };
}

/** Returns the reason why a recording is too large, if it is. */
export function tooLarge(settings: Settings): string | undefined {
  const { tables, made, tableBytes, ...written } = estimate(settings);
  const [what, most] = isLive(settings)
    ? ["A recording on the engine", BYTES_MAX.live]
    : ["A simulated recording", BYTES_MAX.simulated];
  if (written.bytes > most) {
    return `${what} writes at most ${bytes(most)} of values; this one has ${bytes(written.bytes)}.`;
  }
  const cure = `Choose larger tables than ${bytes(tableBytes)}, or fewer keys.`;
  if (tables > TABLES_MAX) {
    return `This would be ${about(tables)} tables; a page draws at most ${count(TABLES_MAX)}. ${cure}`;
  }
  if (made > MADE_MAX) {
    return `This would make some ${about(made)} tables; a page holds ${count(MADE_MAX)}. ${cure}`;
  }
  return undefined;
}

/** Returns an estimate by two digits. */
function about(value: number): string {
  const rounded = Number(value.toPrecision(2));
  return rounded >= 1e6 ? `${rounded / 1e6} million` : count(rounded);
}

/** Returns the reason why a recording with this state and length of events is shown no further, if there is one. */
export function tooMuch(state: State, characters: number): string | undefined {
  const tables = treeTables(state);
  if (tables > TABLES_MAX) {
    return `its tree has ${plural(tables, "table")}; a page draws at most ${count(TABLES_MAX)}`;
  }
  if (characters <= EVENTS_MAX) return undefined;
  return `its events take more than ${bytes(EVENTS_MAX)}, which is what a page holds`;
}
