/**
 * Configuration of a simulation that resembles a recording from elsewhere.
 *
 * 1. The configuration in its header is taken, if it has one.
 * 2. Otherwise sizes are those of flushed tables and sealed memtables, keys are the entries of the largest run, which
 *    has each key once, and the rate is that of entries which were flushed.
 * 3. The device is a fast one, and merges take the processor time that makes them as fast as the recorded ones.
 */

import type { PolicyOptions } from "terrane";
import type { Timeline } from "../timeline/timeline.ts";
import { inKebab } from "./event-log.ts";
import { DEVICES } from "./settings.ts";

/** Memtables that a recording must have sealed to be simulated. */
const SEALED_MIN = 4;
/** Processor time for a byte of a flush, as a share of that for a byte of a merge. */
const FLUSHED = 0.25;
/** The most operations of a simulation. */
const OPERATIONS_MAX = 2_000_000;

/** Returns the configuration; undefined where too little is recorded. */
export function observedConfig(timeline: Timeline): object | undefined {
  const { header, policy } = timeline.end;
  if (header?.simulation) return inKebab({ ...header.simulation, ...(policy && { policy }) });
  const { seals, works } = timeline.history;
  const flushed = flushedOf(timeline);
  const keys = keysOf(timeline);
  if (policy === null || seals.length < SEALED_MIN || flushed.entries === 0 || keys === 0)
    return undefined;
  const { read: readSpeed, write: writeSpeed } = DEVICES.nvme;
  const { mergeRead, mergeWritten } = timeline.end.totals;
  const merging = works.reduce((sum, { from, to }) => sum + (to === undefined ? 0 : to - from), 0);
  const moving = (mergeRead / readSpeed + mergeWritten / writeSpeed) * 1e9;
  const nanos = mergeRead === 0 ? 0 : Math.max(merging * 1000 - moving, 0) / mergeRead;
  const seconds = Math.max(timeline.duration, 1) / 1e6;
  const memtableBytes = seals.reduce((sum, { bytes }) => sum + bytes, 0) / seals.length;
  const clients = { mix: { update: 1 }, rate: flushed.entries / seconds };
  return {
    policy: inKebab(policy satisfies PolicyOptions),
    "buffer-bytes": Math.max(Math.round(memtableBytes), 1),
    "key-bytes": flushed.keyBytes,
    "value-bytes": Math.max(Math.round(flushed.bytes / flushed.entries) - flushed.keyBytes, 0),
    workers: Math.max(timeline.history.lanes, 1),
    device: {
      "read-speed": readSpeed,
      "write-speed": writeSpeed,
      "request-bytes": 1 << 18,
      "merge-nanos-per-byte": nanos,
      "flush-nanos-per-byte": nanos * FLUSHED,
    },
    workload: {
      load: keys,
      phases: [{ operations: Math.min(flushed.entries, OPERATIONS_MAX), clients: [clients] }],
    },
  };
}

/** Returns sums over the tables of all flushes, and the mean bytes of their keys. */
function flushedOf(timeline: Timeline): { entries: number; bytes: number; keyBytes: number } {
  let [entries, bytes, keys, tables] = [0, 0, 0, 0];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type !== "flushed") continue;
    for (const table of event.tables) {
      entries += table.entries;
      bytes += table.bytes;
      keys += table.smallest.length;
      tables += 1;
    }
  }
  return { entries, bytes, keyBytes: Math.max(Math.round(keys / Math.max(tables, 1)), 1) };
}

/** Returns the entries of the largest run. */
function keysOf({ end }: Timeline): number {
  const runs = end.levels.flatMap(({ runs }) => runs);
  const entries = runs.map(({ tables }) => tables.reduce((sum, table) => sum + table.entries, 0));
  return Math.max(0, ...entries);
}
