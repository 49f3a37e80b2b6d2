/**
 * Background work at a moment: how busy each worker was in the time before, what waits for one, how fast
 * bytes moved, and what writes have waited for.
 */

import type { StallReason } from "terrane";
import type { History } from "./history.ts";
import type { State } from "./state.ts";
import type { Timeline } from "./timeline.ts";

/** The time before a moment over which shares and rates are taken, in microseconds. */
export const WINDOW = 1e6;

/** Jobs of one kind. */
export interface Jobs {
  kind: "flushes" | "merges";
  queued: number;
  running: number;
  bytesPerSecond: number;
}

/** Time for which writes were held up for one reason so far, in microseconds. */
export interface HeldUp {
  reason: StallReason;
  stalled: number;
  slowed: number;
}

/** Background work at a moment. */
export interface Background {
  /** The share of the time before that each worker merged. */
  workers: number[];
  jobs: Jobs[];
  heldUp: HeldUp[];
}

/** Returns the background work of a recording at a moment, with `workers` workers at least. */
export function backgroundAt(timeline: Timeline, micros: number, workers: number): Background {
  const { history } = timeline;
  const from = Math.max(micros - WINDOW, 0);
  const length = Math.max(micros - from, 1);
  const busy = Array.from({ length: Math.max(workers, history.lanes) }, (_, lane) => {
    const worked = history.busy[lane];
    return worked === undefined ? 0 : worked.until(micros) - worked.until(from);
  });
  // A state that is asked for is the start of the next search: the later one comes last.
  const before = movedBytes(timeline, timeline.at(from), from);
  const now = timeline.at(micros);
  const after = movedBytes(timeline, now, micros);
  const perSecond = (...kinds: (keyof typeof after)[]) =>
    kinds.reduce((sum, kind) => sum + Math.max(after[kind] - before[kind], 0), 0) / (length / 1e6);
  const merging = now.groups.filter(({ moved }) => !moved).length;
  const decided = now.compactions.reduce(
    (sum, { groups, groupsInstalled }) => sum + groups - groupsInstalled,
    0,
  );
  return {
    workers: busy.map((time) => time / length),
    jobs: [
      { kind: "flushes", ...flushing(now), bytesPerSecond: perSecond("flushed") },
      {
        kind: "merges",
        queued: Math.max(decided - now.groups.length, 0),
        running: merging,
        bytesPerSecond: perSecond("read", "written"),
      },
    ],
    heldUp: heldUp(history, micros),
  };
}

/** The oldest of the sealed memtables is being flushed. */
function flushing({ sealed }: State): { queued: number; running: number } {
  const running = Math.min(sealed.length, 1);
  return { queued: sealed.length - running, running };
}

/** Returns the bytes that flushes have written, and merges read and written, unfinished ones included. */
export function movedBytes(
  timeline: Timeline,
  state: State,
  micros: number,
): Record<"flushed" | "read" | "written", number> {
  const { flushed, mergeRead, mergeWritten } = state.totals;
  const moving = { flushed, read: mergeRead, written: mergeWritten };
  for (const group of state.groups) {
    if (group.moved) continue;
    const { read, written } = timeline.progress.at(group, micros);
    moving.read += read;
    moving.written += written;
  }
  return moving;
}

function heldUp({ stalls, slowdowns }: History, micros: number): HeldUp[] {
  const reasons = [...new Set([...stalls.keys(), ...slowdowns.keys()])];
  return reasons
    .map((reason) => ({
      reason,
      stalled: stalls.get(reason)?.until(micros) ?? 0,
      slowed: slowdowns.get(reason)?.until(micros) ?? 0,
    }))
    .filter(({ stalled, slowed }) => stalled + slowed > 0);
}
