/**
 * The cause of a wait of writes.
 *
 * 1. A wait ends with a flush, or with a merge that takes tables out of level 0 or lowers the debt: the last one of
 *    that kind before its end.
 * 2. A merge that began before the wait was too slow. One that began later was held up: for want of a worker, or
 *    until another merge had ended.
 */

import type { StallReason } from "terrane";
import type { Wait } from "./history.ts";
import { tablesOf } from "./state.ts";
import type { Timeline } from "./timeline.ts";

/** The flush or merge by which a wait ended. Times are in microseconds. */
export type Ender =
  | { kind: "flush"; at: number; bytes: number }
  | {
      kind: "merge";
      at: number;
      compaction: number;
      level: number;
      /** Undefined for tables that were only moved. */
      began: number | undefined;
      readBytes: number;
      writtenBytes: number;
    };

/** Reason why a merge started no earlier. */
export type LateStart =
  | { by: "workers"; workers: number; levels: readonly number[] }
  | { by: "merge"; at: number; level: number }
  | { by: "decision" };

/** The cause of a wait. */
export interface Cause {
  wait: Wait;
  /** End of the wait, or of the recording. */
  to: number;
  /** Bytes that had been accepted when it began. */
  accepted: number;
  /** Runs of level 0 and sealed memtables, when it began. */
  level0Runs: number;
  sealed: number;
  ender: Ender | undefined;
  heldUp: LateStart | undefined;
}

/** Whether a wait for this reason ends with a flush, rather than with a merge. */
export function endsByFlush(reason: StallReason): boolean {
  return reason === "memtables" || reason === "memory" || reason === "wal";
}

/** Returns the cause of a wait, in a store with `workers` workers; 0 if their number is not known. */
export function causeOf(timeline: Timeline, wait: Wait, workers: number): Cause {
  const { from, reason } = wait;
  const to = wait.to ?? timeline.duration;
  const before = timeline.at(from);
  const enderOf = endsByFlush(reason) ? flushOf : mergeOf;
  const ender = wait.to === undefined ? undefined : enderOf(timeline, wait);
  return {
    wait,
    to,
    accepted: before.totals.accepted,
    level0Runs: before.levels[0]?.runs.length ?? 0,
    sealed: before.sealed.length,
    ender,
    heldUp: ender && heldUp(timeline, from, ender, workers),
  };
}

/** Returns the waits of a recording, the longest first. */
export function longestWaits({ history, duration }: Timeline): Wait[] {
  const lasted = ({ from, to = duration }: Wait) => to - from;
  return history.waits.toSorted((a, b) => lasted(b) - lasted(a));
}

/** Returns the wait nearest to a moment, if it is within a distance. Both are in microseconds. */
export function waitNear(timeline: Timeline, micros: number, within: number): Wait | undefined {
  const { waits } = timeline.history;
  const distance = ({ from, to = timeline.duration }: Wait) =>
    Math.max(from - micros, micros - to, 0);
  let nearest: Wait | undefined;
  for (const wait of waits) {
    if (nearest === undefined || distance(wait) < distance(nearest)) nearest = wait;
  }
  return nearest !== undefined && distance(nearest) <= within ? nearest : undefined;
}

/** Yields the events of a wait with their positions, the last first. */
function* backwards(timeline: Timeline, { from, to = timeline.duration }: Wait) {
  for (let at = timeline.countAt(to) - 1; at >= 0; at--) {
    const event = timeline.event(at);
    if (event === undefined || event.micros < from) return;
    yield { at, event };
  }
}

function flushOf(timeline: Timeline, wait: Wait): Ender | undefined {
  for (const { event } of backwards(timeline, wait)) {
    if (event.type !== "flushed") continue;
    const bytes = event.tables.reduce((sum, table) => sum + table.bytes, 0);
    return { kind: "flush", at: event.micros, bytes };
  }
  return undefined;
}

function mergeOf(timeline: Timeline, wait: Wait): Ender | undefined {
  for (const { at, event } of backwards(timeline, wait)) {
    if (event.type !== "group-installed") continue;
    const inputs = new Set(event.inputs);
    const taken = timeline
      .after(at)
      .levels.map((level) => tablesOf(level).filter(({ id }) => inputs.has(id)));
    if (wait.reason === "level0" && taken[0]?.length === 0) continue;
    const work = timeline.history.works.find(
      ({ compaction, group }) => compaction === event.compaction && group === event.inputs[0],
    );
    const size = (tables: readonly { bytes: number }[]) =>
      tables.reduce((sum, { bytes }) => sum + bytes, 0);
    return {
      kind: "merge",
      at: event.micros,
      compaction: event.compaction,
      level: event.level,
      began: event.moved ? undefined : work?.from,
      readBytes: size(taken.flat()),
      writtenBytes: size(event.outputs),
    };
  }
  return undefined;
}

function heldUp(
  timeline: Timeline,
  from: number,
  ender: Ender,
  workers: number,
): LateStart | undefined {
  if (ender.kind === "flush" || ender.began === undefined || ender.began <= from) return undefined;
  const { began } = ender;
  const { works } = timeline.history;
  // Merges that ran when the wait began, or ended at that moment.
  const running = works.filter((work) => work.from <= from && (work.to ?? Infinity) > from);
  if (workers > 0 && running.length >= workers) {
    const levels = [...new Set(running.map(({ level }) => level))].sort((a, b) => a - b);
    return { by: "workers", workers, levels };
  }
  const last = works.findLast(({ to }) => to !== undefined && to > from && to <= began);
  if (last?.to !== undefined) return { by: "merge", at: last.to, level: last.level };
  return { by: "decision" };
}
