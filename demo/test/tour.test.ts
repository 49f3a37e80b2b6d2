/** The recording of a new visitor, which has no waits, and the first minute through it. */

import { expect, test } from "vitest";
import { CALM, CALM_FROM, DEFAULTS } from "../src/source/settings.ts";
import { tableOf } from "../src/timeline/state.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { tourOf } from "../src/views/tour.ts";
import { nowSentence } from "../src/views/words.ts";
import { simulate } from "./simulator.ts";

const { timeline } = simulate(CALM);

test("a new visitor's writes never wait, and the last level fills", () => {
  expect(timeline.history.waits).toEqual([]);
  const last = timeline.history.samples.at(-1)?.fullness ?? [];
  const depth = last.length - 1;
  const half = timeline.history.sampleAt(CALM_FROM / 2)?.fullness[depth] ?? 0;
  expect(last[depth]).toBeGreaterThan(1.5 * half);
  expect(last[depth]).toBeGreaterThan(0.5);
});

test("a new visitor first sees a full level merged into the next", () => {
  const state = timeline.at(CALM_FROM);
  expect(CALM_FROM - (state.latest?.began ?? 0)).toBeLessThan(50_000);
  expect(state.latest?.reason).toMatch(/^level 1 has .* against a capacity of .* into level 3/);
  expect(nowSentence(state, CALM_FROM)).toMatch(/^Merging levels? .* into level 3/);
  expect(state.groups.every(({ cuts }) => cuts.length === 0)).toBe(true);
});

test("a new visitor meets a flush, a merge, a move and then a dividing merge", () => {
  const kinds: string[] = [];
  for (const event of timeline.events(timeline.countAt(CALM_FROM), timeline.length)) {
    const kind =
      event.type === "flushed"
        ? "flush"
        : event.type === "group-installed" && event.moved
          ? "move"
          : event.type !== "compaction-begun"
            ? undefined
            : / is cut at \d+ keys/.test(event.reason)
              ? "dividing merge"
              : "merge";
    if (kind !== undefined && !kinds.includes(kind)) kinds.push(kind);
  }
  expect(kinds).toEqual(["flush", "merge", "move", "dividing merge"]);
});

test("each sentence of the first minute has a moment and a table", () => {
  const stops = tourOf(timeline);
  expect(stops).toHaveLength(5);
  for (const { sentence, at } of stops) {
    if (at === undefined) throw new Error(sentence);
    const state = timeline.at(at.micros);
    if (at.table !== undefined) expect(tableOf(state, at.table)).toBeDefined();
  }
  const merge = stops[3]?.at;
  expect(timeline.at(merge?.micros ?? 0).groups.length).toBeGreaterThan(0);
});

test("a recording without moves has no moment for them", () => {
  expect(tourOf(new Timeline()).every(({ at }) => at === undefined)).toBe(true);
  const uniform = { ...DEFAULTS, load: 20_000, operations: 20_000 } as const;
  const other = simulate({ ...uniform, policy: "tiered-full", workload: "uniform" });
  expect(tourOf(other.timeline).filter(({ at }) => at !== undefined).length).toBeLessThan(5);
});
