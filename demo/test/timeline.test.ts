/** The timeline: what events add up to, in whichever order moments are visited. */

import { describe, expect, test } from "vitest";
import { DEFAULTS, POLICIES, type Settings } from "../src/source/settings.ts";
import { amplificationOf } from "../src/timeline/amplification.ts";
import { reduce } from "../src/timeline/reduce.ts";
import {
  EMPTY,
  levelBytes,
  type PlacedLevel,
  type State,
  treeBytes,
} from "../src/timeline/state.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { simulate } from "./simulator.ts";

const SMALL: Settings = { ...DEFAULTS, load: 60_000, operations: 140_000 };

const tableIds = ({
  levels,
}: {
  levels: readonly { runs: readonly { id: number; tables: readonly { id: number }[] }[] }[];
}) => levels.map(({ runs }) => runs.map(({ id, tables }) => [id, tables.map((table) => table.id)]));

/** Returns a level as the events have it: runs of tables. */
const copied = ({ runs }: PlacedLevel) => ({
  runs: runs.map(({ id, tables }) => ({ id, tables: [...tables] })),
});

describe.each(POLICIES.map(({ name }) => name as Settings["policy"]))("%s", (policy) => {
  test("the events add up to the tree that the simulator has", () => {
    const { timeline, levels } = simulate({ ...SMALL, policy });
    const { end } = timeline;
    expect(end.totals.accepted).toBeGreaterThan(100e6);
    // Below the last table there may be levels that one of the two does not list.
    const trim = (ids: ReturnType<typeof tableIds>) =>
      ids.slice(0, ids.findLastIndex((runs) => runs.length > 0) + 1);
    expect(trim(tableIds(end))).toEqual(trim(tableIds({ levels })));
    expect(end.groups).toEqual([]);
    expect(end.compactions).toEqual([]);
    expect(end.stall).toBeNull();
  });
});

const { timeline } = simulate({ ...SMALL, policy: "leveled" });

test("a moment is the same, reached forward, backward or at once", () => {
  const counts = Array.from({ length: 60 }, (_, i) => Math.floor((i * timeline.length) / 59));
  const forward = counts.map((count) => timeline.after(count));
  const backward = counts
    .toReversed()
    .map((count) => timeline.after(count))
    .toReversed();
  const folded: State[] = [];
  let state = EMPTY;
  for (let at = 0, next = 0; at <= timeline.length; at++) {
    while (counts[next] === at) {
      folded.push(state);
      next += 1;
    }
    const event = timeline.event(at);
    if (event !== undefined) state = reduce(state, event);
  }
  expect(forward).toEqual(folded);
  expect(backward).toEqual(folded);
});

test("a state is never changed by later events", () => {
  const middle = Math.floor(timeline.length / 2);
  const before = timeline.after(middle);
  const copy = structuredClone(before);
  timeline.after(timeline.length);
  expect(before).toEqual(copy);
});

test("times and accepted bytes find the events before them", () => {
  for (const part of [0, 0.2, 0.5, 0.99, 1]) {
    const micros = timeline.duration * part;
    const count = timeline.countAt(micros);
    expect(timeline.event(count - 1)?.micros ?? 0).toBeLessThanOrEqual(micros);
    expect(timeline.event(count)?.micros ?? Infinity).toBeGreaterThan(micros);
    const { history } = timeline;
    const bytes = timeline.end.totals.accepted * part;
    const moment = history.momentOf(bytes);
    if (part === 1) expect(moment).toBeUndefined();
    else expect(history.acceptedAt(moment ?? Infinity)).toBeCloseTo(bytes, 0);
    expect(timeline.at(moment ?? Infinity).totals.accepted).toBeLessThanOrEqual(bytes);
  }
});

test("bytes are conserved: the tree holds what was flushed and written less what was read", () => {
  for (let count = 0; count <= timeline.length; count += 97) {
    const state = timeline.after(count);
    const { flushed, mergeRead, mergeWritten } = state.totals;
    expect(treeBytes(state)).toBe(flushed + mergeWritten - mergeRead);
  }
});

test("a merge's progress rises from nothing to all that it reads", () => {
  const begun = timeline.find("group-begun", 0, 1) ?? 0;
  const [group] = timeline.after(begun + 1).groups;
  if (group === undefined) throw new Error("no group began");
  const installed = timeline.find("group-installed", begun, 1) ?? 0;
  const end = timeline.event(installed)?.micros ?? 0;
  let last = -1;
  for (let i = 0; i <= 20; i++) {
    const { read } = timeline.progress.at(group, group.began + ((end - group.began) * i) / 20);
    expect(read).toBeGreaterThanOrEqual(last);
    last = read;
  }
  expect(last).toBe(group.totalBytes);
});

test("what groups bring down, from when they begin, is what their compaction has brought down", () => {
  const expected = new Map<number, number>();
  let compared = 0;
  for (let count = 1; count <= timeline.length; count++) {
    const event = timeline.event(count - 1);
    const state = timeline.after(count);
    if (event?.type === "group-begun" && !event.moved) {
      const { compaction, downBytes } = state.groups.at(-1) ?? { compaction: 0, downBytes: 0 };
      expected.set(compaction, (expected.get(compaction) ?? 0) + downBytes);
    }
    if (event?.type !== "compaction-ended") continue;
    const ended = timeline.after(count - 1).compactions.find(({ id }) => id === event.compaction);
    expect(ended?.downBytes).toBe(expected.get(event.compaction) ?? 0);
    compared += Number((ended?.downBytes ?? 0) > 0);
  }
  expect(compared).toBeGreaterThan(5);
});

test("groups that were installed in a time are those whose events lie in it", () => {
  const { timeline } = simulate({ ...SMALL, policy: "leveled", workload: "shifting" });
  const [from, to] = [timeline.duration * 0.2, timeline.duration * 0.7];
  let [moves, merges] = [0, 0];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type !== "group-installed" || event.micros <= from || event.micros > to) continue;
    if (event.moved) moves += 1;
    else merges += 1;
  }
  expect(Math.min(moves, merges)).toBeGreaterThan(0);
  expect(timeline.history.installedIn(from, to)).toEqual({ moves, merges });
});

test("history has a sample for each change and closes what ended", () => {
  const { samples, works, waits } = timeline.history;
  expect(samples.at(-1)?.bytes).toEqual(timeline.end.levels.map(levelBytes));
  expect(works.length).toBeGreaterThan(10);
  for (const { from, to } of [...works, ...waits]) expect(to).toBeGreaterThanOrEqual(from);
  // No lane has two groups at once.
  for (const a of works) {
    for (const b of works) {
      if (a === b || a.lane !== b.lane || a.from > b.from) continue;
      if (b.from === a.from) expect(a.to === a.from || b.to === b.from).toBe(true);
      else expect(a.to).toBeLessThanOrEqual(b.from);
    }
  }
});

test("history has the amplification of the tree after each change but a merge's progress", () => {
  expect(timeline.history.sampleAt(-1)).toBeUndefined();
  let compared = 0;
  for (let count = 1; count <= timeline.length; count += 7) {
    const { micros = 0, type } = timeline.event(count - 1) ?? {};
    if (type === "merge-progress" || timeline.countAt(micros) !== count) continue;
    const told = timeline.history.sampleAt(micros)?.amplification;
    expect(told).toEqual(amplificationOf(timeline.after(count)));
    compared += 1;
  }
  expect(compared).toBeGreaterThan(10);
});

test("a tree, and what happens from there on, add up to the tree that the whole recording has", () => {
  for (const part of [0.2, 0.5, 0.9]) {
    const from = Math.floor(timeline.length * part);
    const { micros, levels, capacities, facts } = timeline.after(from);
    const policy = { policy: "leveled" } as const;
    const attached = new Timeline();
    attached.append([
      { type: "shape", micros, policy, levels: levels.map(copied), capacities, facts },
    ]);
    expect(tableIds(attached.end)).toEqual(tableIds({ levels }));
    attached.append(timeline.events(from, timeline.length));
    expect(tableIds(attached.end)).toEqual(tableIds(timeline.end));
    expect(attached.end.capacities).toEqual(timeline.end.capacities);
    // Nothing is said of what was written before.
    expect(attached.end.totals.accepted).toBeLessThan(timeline.end.totals.accepted);
  }
});

describe("a power failure amid merges", () => {
  const at = timeline.find("merge-progress", timeline.length >> 1, 1) ?? 0;
  const before = timeline.after(at + 1);
  const { levels, capacities, facts, micros } = before;
  const [, ...kept] = levels.map(copied);
  const failed = new Timeline();
  failed.append(timeline.events(0, at + 1));
  failed.append([
    {
      type: "power-failed",
      micros: micros + 1,
      unsyncedBytes: 1000,
      discardedBytes: 10,
      lostWrites: 7,
      through: 99,
      // What was flushed last is in the log again.
      levels: [{ runs: [] }, ...kept],
      sealed: 1,
      capacities,
      facts,
    },
  ]);
  const { end } = failed;

  test("leaves the tables that recovery found, as they came there, and no merge", () => {
    expect(before.groups.length).toBeGreaterThan(0);
    expect(end.levels).toEqual([{ runs: [] }, ...levels.slice(1)]);
    expect(end.groups).toEqual([]);
    expect(end.compactions).toEqual([]);
    expect(end.failure).toMatchObject({ lostWrites: 7, unsyncedBytes: 1000 });
  });

  test("leaves what was counted, and ends what went on", () => {
    expect(end.totals).toEqual(before.totals);
    expect(failed.history.failures).toEqual([micros + 1]);
    expect(failed.history.works.filter(({ to }) => to === undefined)).toEqual([]);
    expect(failed.at(micros).failure).toBeNull();
    expect(failed.at(micros + 1)).toEqual(end);
  });
});

test("space amplification is exact with live bytes, else a bound", () => {
  const { end } = timeline;
  // Every key was loaded, and none was deleted.
  expect(end.liveBytes).toBe(SMALL.load * (SMALL.valueBytes + 16));
  const known = amplificationOf(end);
  expect(known.spaceIsBound).toBe(false);
  expect(known.space).toBeCloseTo(treeBytes(end) / (end.liveBytes ?? 0), 9);
  const bound = amplificationOf({ ...end, liveBytes: null });
  expect(bound.spaceIsBound).toBe(true);
  expect(bound.space).toBeGreaterThanOrEqual(known.space);
});

test("the bound of space amplification counts tombstones", () => {
  const table = (entries: number, tombstones: number) => ({ bytes: entries, entries, tombstones });
  const levels = [[table(50, 50)], [table(100, 0)]].map((tables) => ({
    runs: [{ id: 1, tables: tables.map((one) => ({ ...end(), ...one })) }],
  }));
  // Of the older run at most 50 entries are deleted.
  expect(amplificationOf({ ...EMPTY, levels } as State).space).toBe(150 / 50);
});

const end = () => ({ smallest: new Uint8Array([1]), largest: new Uint8Array([9]) });

test("a get meets the runs that have a table over its key", () => {
  const table = (from: number, to: number) =>
    ({
      smallest: new Uint8Array([from]),
      largest: new Uint8Array([to]),
      bytes: 1,
      entries: 1,
      tombstones: 0,
    }) as never;
  const run = (...tables: never[]) => ({ id: 1, tables });
  // The upper run has keys up to 3 only.
  const levels = [{ runs: [run(table(0, 3))] }, { runs: [run(table(0, 3), table(4, 9))] }];
  expect(amplificationOf({ ...EMPTY, levels } as State).read).toBeCloseTo((2 + 2 + 1) / 3);
});

test("nothing runs in the state of an ended stream", () => {
  const merging = Array.from({ length: timeline.length }, (_, i) => i).find(
    (count) => timeline.after(count).groups.length > 0,
  );
  const other = new Timeline();
  other.append(timeline.events(0, merging ?? 0));
  other.append([{ type: "stalled", micros: other.duration, reason: "level0" }]);
  other.append([{ type: "detached", micros: other.duration + 5 }]);
  const { end } = other;
  expect(end).toMatchObject({ groups: [], compactions: [], stall: null, detached: true });
  expect(other.history.works.every(({ to }) => to !== undefined)).toBe(true);
  expect(other.history.waits.at(-1)).toMatchObject({ to: end.micros });
});
