/** The recordings that the chapters on partitions, PTierDB and buckets show, against what these papers say. */

import { expect, test } from "vitest";
import { chapterOf } from "../src/chapters/chapters.ts";
import { bandsOf } from "../src/layout/bands.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { policyMarks, prefixesOf, prefixOf } from "../src/layout/policy-marks.ts";
import { prefixRule, type Settings } from "../src/source/settings.ts";
import { tablesOf } from "../src/timeline/state.ts";
import type { Timeline } from "../src/timeline/timeline.ts";
import { simulate } from "./simulator.ts";

const [WIDTH, HEIGHT] = [864, 520];

/** The recording that a chapter shows. */
function watched(chapter: string): { settings: Settings; timeline: Timeline } {
  const settings = chapterOf(chapter)?.watch?.settings;
  if (settings === undefined) throw new Error(`${chapter} shows no recording`);
  return { settings, timeline: simulate(settings).timeline };
}

/** Tables that moved, and compactions of several groups. */
function counted(timeline: Timeline): { moved: number; divided: number } {
  let [moved, divided] = [0, 0];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type === "group-installed" && event.moved) moved += event.outputs.length;
    if (event.type === "compaction-begun" && event.groups > 1) divided += 1;
  }
  return { moved, divided };
}

test("shared cuts divide compactions, and tables move", () => {
  const { moved, divided } = counted(watched("partitions").timeline);
  expect(moved).toBeGreaterThan(0);
  expect(divided).toBeGreaterThan(0);
  // The same writes, cut by size.
  const settings = chapterOf("partitions")?.watch?.settings;
  const parameters = { partitioner: "size" };
  const bySize = counted(simulate({ ...(settings as Settings), parameters }).timeline);
  expect(moved).toBeGreaterThan(bySize.moved);
  expect(divided).toBeGreaterThan(bySize.divided);
});

test("PTierDB moves tables, cuts between prefixes, and makes tables of one", () => {
  const { settings, timeline } = watched("ptier");
  expect(counted(timeline).moved).toBeGreaterThan(0);
  const rule = prefixRule(settings);
  if (rule === undefined) throw new Error("expected a rule of prefixes");
  const prefix = (key: Uint8Array | undefined) => key && prefixOf(key, rule).join();
  let cuts = 0;
  for (const { tables } of timeline.end.levels.flatMap(({ runs }) => runs)) {
    tables.slice(1).forEach(({ smallest }, i) => {
      expect(prefix(smallest)).not.toBe(prefix(tables[i]?.largest));
      cuts += 1;
    });
  }
  expect(cuts).toBeGreaterThan(0);
  // Those with a solid cap, in the deeper levels.
  const capped = timeline.end.levels.map(
    (level) => tablesOf(level).filter((one) => prefixesOf(one, rule)?.length === 1).length,
  );
  expect(capped.at(-1)).toBeGreaterThan(0);
});

test("hot buckets are split, and each cut of level 0 is drawn", () => {
  const { timeline } = watched("bucket");
  const axis = keyAxis(timeline.keyFrames());
  const bands = bandsOf(timeline.keyFrames(), HEIGHT);
  let [splits, before] = [0, Infinity];
  for (let count = 0; count <= timeline.length; count += 8) {
    const state = timeline.after(count);
    const { buckets } = policyMarks(state, axis, bands, WIDTH);
    if (buckets.length === 0) continue;
    if (buckets.length > before) splits += 1;
    before = buckets.length;
    const places = buckets.map(({ x }) => x);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(new Set(places).size).toBe(buckets.length);
  }
  expect(splits).toBeGreaterThan(0);
});
