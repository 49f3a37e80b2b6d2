/** Work by level, waits and their causes, and limits: what the page says of a store that is held up. */

import { expect, test } from "vitest";
import { changesOf } from "../src/source/what-if.ts";
import { observedConfig } from "../src/source/observed-config.ts";
import { configOf, DEFAULTS, POLICIES, type Settings } from "../src/source/settings.ts";
import { writeEvents } from "../src/source/event-log.ts";
import type { RecordedEvent } from "../src/timeline/events.ts";
import { levelAmplification, shifted, worked } from "../src/timeline/level-work.ts";
import { limitAt } from "../src/timeline/limit.ts";
import { causeOf, longestWaits, waitNear } from "../src/timeline/stall.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { causeText, chainText, limitText } from "../src/views/stall-words.ts";
import { simulate, simulation } from "./simulator.ts";

const SETTINGS: Settings = {
  ...DEFAULTS,
  policy: "leveled",
  workload: "uniform",
  load: 60_000,
  operations: 60_000,
};
const { timeline } = simulate(SETTINGS);

test.each(POLICIES.map(({ name }) => name as Settings["policy"]))(
  "the work of all levels of %s adds up to that of the tree",
  (policy) => {
    const { timeline } = simulate({ ...SETTINGS, policy, load: 30_000, operations: 30_000 });
    const { levelWork, totals } = timeline.end;
    const sum = (of: keyof (typeof levelWork)[number]) =>
      levelWork.reduce((sum, work) => sum + work[of], 0);
    expect(sum("readBytes")).toBe(totals.mergeRead);
    expect(sum("writtenBytes")).toBe(totals.flushed + totals.mergeWritten);
    expect(sum("movedBytes")).toBe(totals.moved);
    const merging = timeline.history.works.reduce((sum, { from, to = from }) => sum + to - from, 0);
    expect(sum("micros")).toBe(merging);
  },
);

test("work stays with the tables when a level is added or dropped above", () => {
  const all = worked(worked([], 1, { writtenBytes: 6, broughtBytes: 2 }), 0, { readBytes: 5 });
  expect(levelAmplification(all[1]!)).toBe(3);
  expect(levelAmplification(all[0]!)).toBeUndefined();
  const added = shifted(all, { add: 1 });
  expect(added.map(({ writtenBytes }) => writtenBytes)).toEqual([0, 0, 6]);
  expect(shifted(added, { drop: 1 })).toEqual(all);
  expect(shifted(all, { add: 5 })).toEqual(all);
});

test("a wait for level 0 ends with the merge that took runs out of it", () => {
  const waits = timeline.history.waits.filter(({ reason, to }) => reason === "level0" && to);
  expect(waits.length).toBeGreaterThan(0);
  for (const wait of waits) {
    const { ender, level0Runs, to } = causeOf(timeline, wait, SETTINGS.workers);
    if (ender?.kind !== "merge") throw new Error(ender?.kind);
    expect(ender.at).toBe(to);
    expect(level0Runs).toBeGreaterThan(timeline.at(to).levels[0]?.runs.length ?? 0);
    expect(ender.readBytes).toBeGreaterThan(0);
  }
});

test("a wait for memtables ends with a flush", () => {
  const waits = timeline.history.waits.filter(({ reason, to }) => reason === "memtables" && to);
  expect(waits.length).toBeGreaterThan(0);
  for (const wait of waits) {
    const cause = causeOf(timeline, wait, SETTINGS.workers);
    expect(cause.ender).toMatchObject({ kind: "flush", at: cause.to });
    expect(cause.heldUp).toBeUndefined();
  }
});

test("every wait is explained in sentences", () => {
  for (const wait of timeline.history.waits) {
    const cause = causeOf(timeline, wait, SETTINGS.workers);
    const said = [causeText(cause), ...chainText(cause)];
    expect(said.length).toBeGreaterThan(2);
    for (const sentence of said) expect(sentence).toMatch(/^[A-Z][^_]*\.$/);
    expect(said.join()).not.toMatch(/NaN|undefined|Infinity/);
  }
});

/** Events of one keyspace, of which only what counts here is given. */
const happened = (events: object[]) => {
  const timeline = new Timeline();
  timeline.append(events.map((event) => ({ keyspace: 0, ...event }) as unknown as RecordedEvent));
  return timeline;
};
const key = Uint8Array.of(1);
const table = (id: number) => ({ id, bytes: 10, entries: 1, smallest: key, largest: key });
const flushed = (micros: number, run: number) => ({
  type: "flushed",
  micros,
  run,
  tables: [table(run)],
});
const begun = (micros: number, compaction: number, input: number, level: number) => ({
  type: "group-begun",
  micros,
  compaction,
  inputs: [input],
  level,
  run: 90 + compaction,
  cuts: [],
  moved: false,
});
const installed = (micros: number, compaction: number, input: number, level: number) => ({
  ...begun(micros, compaction, input, level),
  type: "group-installed",
  outputs: [table(50 + compaction)],
});
const stalled = (micros: number) => ({ type: "stalled", micros, reason: "level0" });
const resumed = (micros: number) => ({
  type: "stall-ended",
  micros,
  reason: "level0",
  lastedMicros: 0,
});

test.each([
  // The merge ran already.
  [[begun(20, 1, 1, 1), stalled(30)], undefined],
  // The only worker merged something else, until 40.
  [[begun(20, 2, 2, 3), stalled(30), installed(40, 2, 2, 3), begun(45, 1, 1, 1)], "workers"],
  // It was planned at once, and began late.
  [[stalled(30), begun(45, 1, 1, 1)], "decision"],
] as const)("a merge is held up by a worker's other work: %#", (events, by) => {
  const end = [installed(60, 1, 1, 1), resumed(60)];
  const all = happened([flushed(10, 1), flushed(11, 2), ...events, ...end]);
  const cause = causeOf(all, all.history.waits[0]!, 1);
  expect(cause.ender).toMatchObject({ kind: "merge", at: 60, compaction: 1 });
  expect(cause.heldUp?.by).toBe(by);
});

test("with a worker to spare a merge waited for the one before it", () => {
  const events = [begun(20, 2, 2, 3), stalled(30), installed(40, 2, 2, 3), begun(45, 1, 1, 1)];
  const end = [installed(60, 1, 1, 1), resumed(60)];
  const all = happened([flushed(10, 1), flushed(11, 2), ...events, ...end]);
  const { heldUp } = causeOf(all, all.history.waits[0]!, 4);
  expect(heldUp).toEqual({ by: "merge", at: 40, level: 3 });
});

test("a wait is found by a click near it, and the longest come first", () => {
  const all = happened([stalled(10), resumed(20), stalled(100), resumed(200), flushed(1000, 1)]);
  expect(waitNear(all, 22, 5)?.from).toBe(10);
  expect(waitNear(all, 150, 0)?.from).toBe(100);
  expect(waitNear(all, 60, 5)).toBeUndefined();
  expect(longestWaits(all).map(({ from }) => from)).toEqual([100, 10]);
});

test("a limit is named by what is busy", () => {
  const second = 1e6;
  const busy = happened([flushed(1, 1), begun(2, 1, 1, 1), flushed(second + 2, 2)]);
  expect(limitAt(busy, second + 2, 1, undefined).by).toBe("workers");
  expect(limitAt(busy, second + 2, 4, undefined).by).toBe("nothing");
  const waiting = happened([flushed(1, 1), begun(2, 1, 1, 1), stalled(second)]);
  expect(limitAt(waiting, second, 4, undefined).by).toBe("one-merge");
  for (const reason of ["memtables", "memory", "wal"]) {
    const full = happened([flushed(1, 1), { ...stalled(second), reason }]);
    expect(limitAt(full, second, 4, undefined).by).toBe("flush");
  }
  const idle = happened([flushed(1, 1), flushed(second, 2)]);
  const slow = { read: 1, write: 1 };
  expect(limitAt(idle, second, 4, slow)).toMatchObject({ by: "device", merged: 0 });
  for (const limit of [limitAt(busy, second, 1, slow), limitAt(waiting, second, 4, undefined)]) {
    expect(limitText(limit)).toMatch(/^[A-Z].*limits?: .*\.$/);
  }
});

test("a recording without a configuration is simulated by its events", () => {
  const without = new Timeline();
  const events = timeline.events(0, timeline.length);
  without.append(
    events.map((event) => (event.type === "header" ? { ...event, simulation: null } : event)),
  );
  const config = observedConfig(without) as {
    workers: number;
    workload: { load: number };
    "key-bytes": number;
    "value-bytes": number;
  };
  expect(config).toMatchObject({ policy: { policy: "leveled", "size-ratio": 5 } });
  expect(config["key-bytes"] + config["value-bytes"]).toBe(16 + SETTINGS.valueBytes);
  // The largest run has most of the keys, once each.
  expect(config.workload.load).toBeGreaterThan(SETTINGS.load / 2);
  expect(config.workload.load).toBeLessThanOrEqual(SETTINGS.load);
  expect(config.workers).toBeLessThanOrEqual(SETTINGS.workers);
  // The simulator takes it, and every change of it.
  for (const { config: changed } of changesOf(config)) simulation(changed).free();
});

test("a trace of a simulation is simulated by its own configuration", () => {
  const config = observedConfig(timeline);
  const mine = configOf(SETTINGS) as { device: object; workload: { load: number } };
  expect(config).toMatchObject({ device: mine.device, workload: { load: SETTINGS.load } });
  for (const { config: changed } of changesOf(config ?? {})) simulation(changed).free();
  // Its numbers survive a trace that is saved and opened.
  expect(writeEvents(timeline.events(0, 1))).toContain('"write-speed":450000000');
});

test("a recording with too little is not simulated", () => {
  expect(observedConfig(happened([flushed(1, 1)]))).toBeUndefined();
});
