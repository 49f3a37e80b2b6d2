/**
 * Moments that a recording is watched for: the first move beside a merge, the first split, the first wait. Each is
 * found by the events up to its end, so that it stays the same while the recording grows.
 */

import { bytes, plural } from "../format.ts";
import type { RecordedEvent } from "./events.ts";
import { type Bucket, bucketsOf, equalShares, levelFacts, treeFact } from "./facts.ts";
import { compareKeys } from "./key-order.ts";
import { bytesOf, type PlacedTable, type State, tableOf, tablesOf } from "./state.ts";
import type { Timeline } from "./timeline.ts";

/** Thing to point at: the first of these tables that is there, a key among buckets, or a table with a wrong filter. */
export type SightTarget =
  { tables: readonly number[] } | { key: Uint8Array } | { read: "wrong-filter" };

/** A moment, and what is seen there. */
export interface Sight {
  /** Time at which it is shown first, in microseconds. */
  at: number;
  /** Start and end of what happens there. */
  from: number;
  to: number;
  target: SightTarget;
  sentence: string;
}

/** Time for which a table is seen before it moves, in microseconds, and after something is done. */
const [BEFORE, AFTER] = [30_000, 100_000];
/** Share of a merge at which it is shown first. */
const MIDWAY = 0.4;
/** Runs of a level that are several. */
const SEVERAL = 3;

/** Kinds of moments that can be watched for. */
export const SIGHTS = {
  newest,
  rewrite,
  runs,
  "wrong-filter": wrongFilter,
  wait,
  kept,
  dropped,
  move,
  moves,
  admission,
  dividing,
  freed,
  split,
} satisfies Record<string, (timeline: Timeline) => Sight | undefined>;

/** The name of what can be watched for. */
export type SightName = keyof typeof SIGHTS;

/** Returns the first such moment of a recording, if it has one so far. */
export function sightOf(timeline: Timeline, name: SightName): Sight | undefined {
  return SIGHTS[name](timeline);
}

type Of<T extends RecordedEvent["type"]> = Extract<RecordedEvent, { type: T }>;

/** Events of a type, each with the number of events before it. */
function* eventsOf<T extends RecordedEvent["type"]>(
  timeline: Timeline,
  type: T,
): Generator<[event: Of<T>, before: number]> {
  for (let at = timeline.find(type, 0, 1); at !== undefined; at = timeline.find(type, at + 1, 1)) {
    const event = timeline.event(at);
    if (event?.type === type) yield [event as Of<T>, at];
  }
}

/** A group that was merged or moved. */
interface Done {
  begun: Of<"group-begun">;
  installed: Of<"group-installed">;
  /** The tree before, and its inputs there. */
  state: State;
  inputs: { table: PlacedTable; depth: number }[];
}

/** Groups that were merged or moved, in the order in which that was done. */
function* doneOf(timeline: Timeline, moved: boolean): Generator<Done> {
  const running = new Map<string, Of<"group-begun">>();
  const name = (compaction: number, inputs: readonly number[]) => `${compaction}/${inputs[0]}`;
  for (let at = 0; at < timeline.length; at++) {
    const event = timeline.event(at);
    if (event?.type === "group-begun") running.set(name(event.compaction, event.inputs), event);
    if (event?.type !== "group-installed" || event.moved !== moved) continue;
    const begun = running.get(name(event.compaction, event.inputs));
    if (begun === undefined) continue;
    const state = timeline.after(at);
    const inputs = event.inputs.flatMap((id) => tableOf(state, id) ?? []);
    yield { begun, installed: event, state, inputs };
  }
}

/** Returns a merge at work, from its middle on until its output is installed. */
function mergeSight(
  { begun, installed }: Done,
  input: PlacedTable | undefined,
  sentence: string,
): Sight {
  const lasts = installed.micros - begun.micros;
  const tables = [input?.id, installed.outputs[0]?.id].filter((id) => id !== undefined);
  return {
    at: Math.round(begun.micros + MIDWAY * lasts),
    from: begun.micros,
    to: installed.micros + AFTER,
    target: { tables },
    sentence,
  };
}

/** The sight of a table, from a flush on. */
function flushSight({ micros }: Of<"flushed">, { id }: { id: number }, sentence: string): Sight {
  return { at: micros, from: micros, to: micros + AFTER, target: { tables: [id] }, sentence };
}

const sizeOf = (inputs: Done["inputs"]) => bytesOf(inputs.map(({ table }) => table));
const deadOf = (tables: readonly { tombstones: number }[]) =>
  tables.reduce((sum, { tombstones }) => sum + tombstones, 0);

/** Returns the largest of some tables. */
function largest(inputs: Done["inputs"]): PlacedTable | undefined {
  return inputs.map(({ table }) => table).toSorted((a, b) => b.bytes - a.bytes)[0];
}

/** The deepest level that holds tables. */
function deepest({ levels }: State): number {
  return levels.findLastIndex(({ runs }) => runs.length > 0);
}

/** The first flush above two levels. */
function newest(timeline: Timeline): Sight | undefined {
  for (const [event, before] of eventsOf(timeline, "flushed")) {
    const [table] = event.tables;
    const below = timeline
      .after(before)
      .levels.slice(1)
      .filter(({ runs }) => runs.length > 0);
    if (table === undefined || below.length < 2) continue;
    return flushSight(
      event,
      table,
      `Table ${table.id} was flushed just now: of each key that it holds, it has the newest version on disk. ` +
        "Older versions lie below, and a get that finds the key here never asks for them.",
    );
  }
  return undefined;
}

/** The first merge below level 1 that rewrites at least twice as many bytes as it brings down. */
function rewrite(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { level } = done.installed;
    const own = done.inputs.filter(({ depth }) => depth === level);
    const above = done.inputs.filter(({ depth }) => depth !== level);
    if (level < 2 || above.length === 0 || sizeOf(own) < 2 * sizeOf(above)) continue;
    const met = `the ${bytes(sizeOf(own))} that they meet there are read and written again`;
    return mergeSight(
      done,
      largest(own),
      `${bytes(sizeOf(above))} come down into level ${level}, and ${met}.`,
    );
  }
  return undefined;
}

/** The first flush above a level of several runs that leaves level 0 with several as well. */
function runs(timeline: Timeline): Sight | undefined {
  for (const [event, before] of eventsOf(timeline, "flushed")) {
    const state = timeline.after(before + 1);
    const level = state.levels.findIndex(({ runs }, depth) => depth > 0 && runs.length > SEVERAL);
    const [upper = 0, lower = 0] = [0, level].map((depth) => state.levels[depth]?.runs.length);
    const table = state.levels[level]?.runs[0]?.tables[0];
    if (upper < SEVERAL || table === undefined) continue;
    return flushSight(
      event,
      table,
      `Level ${level} has ${lower} runs over the same keys, and level 0 has ${upper} more. ` +
        `A scan reads a block of each of them, wherever it starts.`,
    );
  }
  return undefined;
}

/** A read of a key that a filter is wrong about, once a level has several runs. */
function wrongFilter(timeline: Timeline): Sight | undefined {
  const found = runs(timeline);
  return (
    found && {
      ...found,
      target: { read: "wrong-filter" },
      sentence:
        "The filter of this table says that it may hold the key, and is wrong: a block is read for nothing. " +
        "Filters that say no, the rings, cost no block.",
    }
  );
}

/** The first wait for level 0, once it is over. */
function wait(timeline: Timeline): Sight | undefined {
  for (const [event, before] of eventsOf(timeline, "stalled")) {
    if (event.reason !== "level0") continue;
    const end = timeline.find("stall-ended", before, 1);
    const to = end === undefined ? undefined : timeline.event(end)?.micros;
    const { levels, capacities } = timeline.after(before);
    const { runs } = levels[0] ?? { runs: [] };
    const trigger = capacities[0]?.runs;
    const due = trigger ? `; a merge is due from ${trigger} on` : "";
    const table = runs[0]?.tables[0];
    if (to === undefined || table === undefined) return undefined;
    const waited = `${Math.round((to - event.micros) / 1000)} ms`;
    return {
      at: event.micros,
      from: event.micros,
      to,
      target: { tables: [table.id] },
      sentence:
        `Level 0 has ${plural(runs.length, "run")}, as many as it may have${due}. ` +
        `All writes wait for ${waited}, until a merge leaves fewer.`,
    };
  }
  return undefined;
}

/** The first merge above the last level that keeps its tombstones. */
function kept(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { level, outputs } = done.installed;
    const stay = deadOf(outputs);
    const last = deepest(done.state);
    if (level < 1 || level >= last || stay === 0) continue;
    const dead = done.inputs.filter(({ table }) => table.tombstones > 0);
    return mergeSight(
      done,
      largest(dead),
      `${plural(stay, "tombstone")} of this merge must stay: level ${last} may have older versions of ` +
        "their keys, which would be found again.",
    );
  }
  return undefined;
}

/** The first merge into the last level that drops all of its tombstones. */
function dropped(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { level, outputs } = done.installed;
    const dead = done.inputs.filter(({ table }) => table.tombstones > 0);
    if (level < 1 || level < deepest(done.state) || dead.length === 0 || deadOf(outputs) > 0)
      continue;
    const count = plural(deadOf(dead.map(({ table }) => table)), "tombstone");
    return mergeSight(
      done,
      largest(dead),
      `${count} reach level ${level}, the last. Nothing older lies below: they are dropped, with the ` +
        "versions that they hide.",
    );
  }
  return undefined;
}

/** The first group that moves while others of its compaction are merged. */
function move(timeline: Timeline): Sight | undefined {
  const merging = new Set<number>();
  const moving = new Map<number, Sight>();
  for (let at = 0; at < timeline.length; at++) {
    const event = timeline.event(at);
    if (event?.type === "group-begun" && !event.moved) merging.add(event.compaction);
    else if (event?.type === "group-installed" && event.moved && !moving.has(event.compaction)) {
      const sight = moveSight(timeline.after(at), event);
      if (sight !== undefined) moving.set(event.compaction, sight);
    } else continue;
    const sight = moving.get(event.compaction);
    if (sight !== undefined && merging.has(event.compaction)) return sight;
  }
  return undefined;
}

/** Returns a move of tables that were seen where they were before. */
function moveSight(state: State, event: Of<"group-installed">): Sight | undefined {
  const inputs = event.inputs.flatMap((id) => tableOf(state, id) ?? []);
  const since = Math.max(...inputs.map(({ table }) => table.since));
  if (inputs.length === 0 || since >= event.micros) return undefined;
  const tables = plural(inputs.length, "table");
  return {
    at: event.micros,
    from: Math.max(event.micros - BEFORE, since),
    to: event.micros + AFTER,
    target: { tables: event.inputs.slice(event.inputs.length >> 1) },
    sentence:
      `${tables} here overlap no other table of their compaction. They move into its run of level ` +
      `${event.level} as they are: none of their ${bytes(sizeOf(inputs))} is written. All others are merged.`,
  };
}

/** Whether two of some tables overlap. */
function overlapping(inputs: Done["inputs"]): boolean {
  const tables = inputs.map(({ table }) => table);
  const sorted = tables.toSorted((a, b) => compareKeys(a.smallest, b.smallest));
  return sorted.some((table, i) => {
    const before = sorted[i - 1];
    return before !== undefined && compareKeys(before.largest, table.smallest) >= 0;
  });
}

/** The first compaction of several tables that moves them all. */
function moves(timeline: Timeline): Sight | undefined {
  for (const { begun, installed, inputs, state } of doneOf(timeline, true)) {
    const groups = state.compactions.find(({ id }) => id === begun.compaction)?.groups;
    const [first] = inputs;
    if (groups !== 1 || first === undefined || inputs.length < SEVERAL) continue;
    const levels = `from level ${first.depth} to level ${installed.level}`;
    const sharing = overlapping(inputs)
      ? `No prefix is in three of the ${inputs.length} tables of this compaction, or in two of a kind alone.`
      : `None of the ${inputs.length} tables of this compaction overlaps another: there is nothing to merge.`;
    return {
      at: installed.micros,
      from: installed.micros - BEFORE,
      to: installed.micros + AFTER,
      target: { tables: installed.inputs },
      sentence:
        `${sharing} So all of them move ${levels} as they are: none of their ${bytes(sizeOf(inputs))} is ` +
        "written.",
    };
  }
  return undefined;
}

/** The first merge of several runs of a level below level 0 into one run of the next. */
function admission(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { level } = done.installed;
    const from = done.inputs.filter(({ depth }) => depth === level - 1);
    const { length } = done.state.levels[level - 1]?.runs ?? [];
    const counter = levelFacts(done.state.facts, "counter").get(level - 1);
    if (level < 2 || length < 2 || from.length === 0 || counter !== 1) continue;
    return mergeSight(
      done,
      largest(from),
      `Level 0 is admitted, which lowers the counter of level ${level - 1} from 1 to 0. So the ${length} runs of ` +
        `level ${level - 1} are merged as well, into one run of level ${level}.`,
    );
  }
  return undefined;
}

/** The first merge that is cut where the largest level is. */
function dividing(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { level, cuts } = done.begun;
    const below = tablesOf(done.state.levels[deepest(done.state)]);
    if (cuts.length === 0 || level !== treeFact(done.state.facts, "dividing-level")) continue;
    if (below.length < SEVERAL || level >= deepest(done.state)) continue;
    return mergeSight(
      done,
      largest(done.inputs),
      `A dividing merge: what it writes into level ${level} is cut at ${plural(cuts.length, "key")}, the same ` +
        "as the largest level. Thin lines show the cuts.",
    );
  }
  return undefined;
}

/** The first group of a divided merge into the largest level to be done. */
function freed(timeline: Timeline): Sight | undefined {
  for (const done of doneOf(timeline, false)) {
    const { compaction, level } = done.installed;
    const groups = done.state.compactions.find(({ id }) => id === compaction)?.groups ?? 0;
    const own = done.inputs.filter(({ depth }) => depth === level);
    if (groups < SEVERAL || level < deepest(done.state) || level < 2 || own.length === 0) continue;
    return mergeSight(
      done,
      largest(own),
      `One of ${groups} groups of a merge into level ${level}. Once it is whole, its inputs are deleted, ` +
        `and make room for the ${groups - 1} others.`,
    );
  }
  return undefined;
}

/** A bucket's share of what was flushed into all of them, in percent. */
function sharePercent({ volume }: Bucket, buckets: readonly Bucket[]): string {
  const all = buckets.reduce((sum, bucket) => sum + bucket.volume, 0);
  return `${Math.round((100 * volume) / all)} %`;
}

/** The first bucket that is split. */
function split(timeline: Timeline): Sight | undefined {
  for (const [event, at] of eventsOf(timeline, "policy-status")) {
    const [known, after] = [bucketsOf(timeline.after(at).facts), bucketsOf(event.facts)];
    const isNew = ({ from }: { from: Uint8Array }) =>
      !known.some((bucket) => compareKeys(bucket.from, from) === 0);
    const added = known.length > 0 && after.length > known.length ? after.find(isNew) : undefined;
    if (added === undefined) continue;
    const from = event.micros - 1;
    const before = bucketsOf(timeline.at(from).facts);
    const hot = before.findLast(({ from }) => compareKeys(from, added.from) < 0);
    if (hot === undefined) continue;
    return {
      at: from,
      from,
      to: event.micros + AFTER,
      target: { key: added.from },
      sentence:
        `This bucket got ${sharePercent(hot, before)} of what was flushed lately: ` +
        `${hot.temperature.toFixed(1)} times an equal share of N = ${equalShares(before)} buckets, more than 2. ` +
        "It is split here, so that two workers can merge it.",
    };
  }
  return undefined;
}
