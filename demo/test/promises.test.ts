/** Statements of the chapters against the recordings that they measure. */

import { expect, test } from "vitest";
import { chapterOf } from "../src/chapters/chapters.ts";
import {
  groupsPerCompaction,
  peakSpace,
  tombstonesLeft,
  waiting,
  writing,
} from "../src/chapters/measure.ts";
import { type Mix, type MixChanges, mixConfig, operationsOf } from "../src/chapters/mixes.ts";
import * as dividing from "../src/chapters/models/dividing.ts";
import { countersOf, ROUNDS } from "../src/chapters/models/horizontal.ts";
import { byRule, CASES, closed, TABLES } from "../src/chapters/models/move-or-merge.ts";
import type { Figures, Report } from "../src/source/reports.ts";
import type { Settings } from "../src/source/settings.ts";
import { bucketsOf, levelFacts } from "../src/timeline/facts.ts";
import type { Timeline } from "../src/timeline/timeline.ts";
import { simulate, simulation } from "./simulator.ts";

const recorded = new Map<Settings, Timeline>();

/** The settings of a chapter's prediction. */
function settingsOf(chapter: string, name: string): Settings {
  const { predictions } = chapterOf(chapter)?.question ?? { predictions: [] };
  const settings = predictions.find((prediction) => prediction.name === name)?.settings;
  if (settings === undefined) throw new Error(`${chapter} predicts nothing of ${name}`);
  return settings;
}

/** The recording of a chapter's prediction. */
function recording(chapter: string, name: string): Timeline {
  const settings = settingsOf(chapter, name);
  const timeline = recorded.get(settings) ?? simulate(settings).timeline;
  recorded.set(settings, timeline);
  return timeline;
}

/** Tables that were moved, and groups that were merged. */
function movedAndMerged(timeline: Timeline): { moved: number; merged: number } {
  let [moved, merged] = [0, 0];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type !== "group-installed") continue;
    if (event.moved) moved += event.outputs.length;
    else merged += 1;
  }
  return { moved, merged };
}

/** The highest temperature of a bucket at a share of a recording. */
function hottest(timeline: Timeline, share: number): number {
  const { facts } = timeline.at(timeline.duration * share);
  return Math.max(...bucketsOf(facts).map(({ temperature }) => temperature));
}

test("leveling writes most, tiering least, lazy leveling between", () => {
  const [full, lazy, tiered] = ["leveled-full", "lazy-leveled", "tiered-full"].map((name) =>
    writing(recording("levels", name)),
  );
  expect(full).toBeGreaterThan(lazy ?? 0);
  expect(lazy).toBeGreaterThan(tiered ?? 0);
});

test("the more partitions agree, the more groups there are", () => {
  const [size, local, global] = ["cut by size", "local-range", "global-range"].map((name) =>
    groupsPerCompaction(recording("partitions", name)),
  );
  expect(size).toBeLessThan(1.5);
  expect(local).toBeGreaterThan(3 * (size ?? 0));
  expect(global).toBeGreaterThan(1.3 * (local ?? 0));
});

test("the recording's counters fall as the drawn rounds do", () => {
  const timeline = recording("horizontal", "horizontal-tiering");
  const seen: number[][] = [];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type !== "policy-status") continue;
    const counters = [...levelFacts(event.facts, "counter").values()];
    if (counters.join() !== seen.at(-1)?.join()) seen.push(counters);
  }
  const { levels, starts } = ROUNDS;
  const drawn = starts.flatMap((k) => [
    Array.from({ length: levels }, () => k),
    // Spent counters are those of the next round at once.
    ...countersOf(levels, k).flatMap(({ counters }) => (counters.some(Boolean) ? [counters] : [])),
  ]);
  expect(starts.map((k) => countersOf(levels, k).length)).toEqual([1, 4, 20, 56]);
  const recorded = seen.filter((counters) => counters.length > 0).slice(0, drawn.length);
  expect(recorded.length).toBeGreaterThan(24);
  expect(recorded).toEqual(drawn.slice(0, recorded.length));
});

test("each drawn case of PTierDB's rule is decided as its sentences say", () => {
  const merged = CASES.map(({ tables }) => byRule(tables).size === tables.length);
  expect(merged).toEqual([true, true, true, false]);
  expect(byRule(CASES.at(-1)?.tables ?? []).size).toBe(0);
  for (const { tables, sentences } of CASES)
    expect(sentences.join(" ")).toContain(byRule(tables).size > 0 ? "are merged" : "both move");
});

test("only ascending keys leave groups of one table", () => {
  expect(movedAndMerged(recording("partitions", "global-range")).moved).toBe(0);
  const varied = chapterOf("partitions")?.question.vary?.settings;
  const settings = { ...settingsOf("partitions", "global-range"), ...varied };
  const ascending = movedAndMerged(simulate(settings).timeline);
  expect(ascending.moved).toBeGreaterThan(0);
  expect(ascending.merged).toBe(0);
});

test("counted admissions write less than leveling", () => {
  const full = writing(recording("horizontal", "leveled-full"));
  for (const name of ["horizontal-leveling", "horizontal-tiering"])
    expect(writing(recording("horizontal", name))).toBeLessThan(full);
});

test("Spooky holds least in the measurement, not in the example", () => {
  const [full = 0, partial = 0, spooky = 0] = ["leveled-full", "leveled", "spooky"].map((name) =>
    peakSpace(recording("spooky", name), settingsOf("spooky", name)),
  );
  expect(full).toBeGreaterThan(partial);
  expect(partial).toBeGreaterThan(spooky);
  const peaks = (["partial", "spooky", "full"] as const).map((way) =>
    dividing.peak(dividing.groupsOf(way)),
  );
  expect(peaks).toEqual(peaks.toSorted((a, b) => a - b));
  // Fewer merges at once hold less.
  const settings = { ...settingsOf("spooky", "leveled"), workers: 1 };
  expect(peakSpace(simulate(settings).timeline, settings)).toBeLessThan(partial);
});

test("each way of merging ends with the live data alone", () => {
  for (const way of ["full", "partial", "spooky"] as const) {
    const groups = dividing.groupsOf(way);
    const end = dividing.momentOf(groups, dividing.total(groups) + 0.5);
    expect(end.used).toBe(dividing.LARGEST);
  }
});

test("PTierDB moves tables, in the example and in the measurement", () => {
  const merged = closed(TABLES, byRule(TABLES));
  expect(TABLES.filter(({ name }) => !merged.has(name)).map(({ name }) => name)).toEqual(["t5"]);
  expect(movedAndMerged(recording("ptier", "ptier")).moved).toBeGreaterThan(0);
  const [leveled, tiered, ptier] = ["leveled", "tiered", "ptier"].map((name) =>
    writing(recording("ptier", name)),
  );
  expect(ptier).toBeLessThan(leveled ?? 0);
  expect(ptier).toBeLessThan(1.5 * (tiered ?? 0));
});

test("buckets are split until none is hot and no write waits", () => {
  const timeline = recording("bucket", "bucket, late keys");
  expect(hottest(timeline, 0.2)).toBeGreaterThan(2);
  for (const share of [0.8, 0.9, 1]) expect(hottest(timeline, share)).toBeLessThan(2.1);
  const waited = (share: number) => timeline.at(timeline.duration * share).stalledMicros;
  expect(waited(0.4)).toBeGreaterThan(0);
  expect(waited(1)).toBe(waited(0.8));
  const fixed = recording("bucket", "fixed buckets, late keys");
  expect(waiting(fixed)).toBeGreaterThan(2 * waiting(timeline));
});

test("with even keys, buckets wait far less than leveling", () => {
  const [leveled = 0, bucket] = ["leveled, even", "bucket, even"].map((name) =>
    waiting(recording("bucket", name)),
  );
  expect(bucket).toBeLessThan(leveled / 4);
});

/** The report of the operations of a mix. */
function operations(policy: Settings["policy"], mix: Mix, changes?: MixChanges): Figures {
  const simulated = simulation(mixConfig(policy, mix, changes));
  while (simulated.advance(Infinity, Infinity));
  const report = JSON.parse(simulated.report()) as Report;
  simulated.free();
  return operationsOf(report);
}

test("each bit of a filter multiplies, and Monkey wastes least", () => {
  const mix = { update: 50, read: 50, scan: 0 };
  const [five = 0, ten = 0, monkey] = [
    { filterBits: 5 },
    { filterBits: 10 },
    { filterBits: 10, parameters: { filters: "monkey" } },
  ].map((changes) => {
    const { by_level } = operations("tiered", mix, changes);
    return by_level.reduce((sum, { false_positives }) => sum + false_positives, 0);
  });
  expect(ten).toBeLessThan(five / 6);
  expect(monkey).toBeLessThan(ten / 2);
});

test("scans pay for runs, and gets do not", () => {
  const mix = { update: 80, read: 10, scan: 10 };
  const [leveled, tiered] = (["leveled", "tiered"] as const).map((policy) =>
    operations(policy, mix),
  );
  const gets = [leveled, tiered].map((figures) => figures?.read_ios_per_get ?? 0);
  expect(Math.max(...gets)).toBeLessThan(1.1 * Math.min(...gets));
  const scanned = leveled?.read_ios_per_scan ?? Infinity;
  expect(tiered?.read_ios_per_scan).toBeGreaterThan(1.3 * scanned);
});

test("four workers do not end the waits, and fewer writes or merges do", () => {
  const names = ["1 worker", "4 workers", "4, a third of the rate", "4, tiered"];
  const [one, four, slow, tiered] = names.map((name) => waiting(recording("stalls", name)));
  expect(one).toBeGreaterThan(0);
  expect(four).toBeGreaterThan(one ?? 0);
  expect([slow, tiered]).toEqual([0, 0]);
  const settings = {
    ...settingsOf("stalls", "4 workers"),
    ...chapterOf("stalls")?.question.vary?.settings,
  };
  expect(waiting(simulate(settings).timeline)).toBe(0);
});

test("tombstones are left where the last level has several runs", () => {
  const [leveled = 0, lazy = 0, tiered = 0] = ["leveled", "lazy-leveled", "tiered"].map((name) =>
    tombstonesLeft(recording("deletes", name), settingsOf("deletes", name)),
  );
  expect(tiered).toBeGreaterThan(2 * Math.max(leveled, lazy));
  const { levels } = recording("deletes", "tiered").end;
  const runs = levels
    .at(-1)
    ?.runs.map(({ tables }) => tables.some(({ tombstones }) => tombstones > 0));
  expect(runs?.slice(0, -1)).toContain(true);
  expect(runs?.at(-1)).toBe(false);
});
