/** Marks of policies: their places, and their agreement with events. */

import { expect, test } from "vitest";
import { bandsOf } from "../src/layout/bands.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { policyMarks, prefixesOf, type PrefixRule } from "../src/layout/policy-marks.ts";
import { DEFAULTS, prefixRule, type Settings } from "../src/source/settings.ts";
import { bucketsOf, levelFacts } from "../src/timeline/facts.ts";
import { type PlacedTable, type State, tablesOf } from "../src/timeline/state.ts";
import { simulate } from "./simulator.ts";

const [WIDTH, HEIGHT] = [864, 520];

/** A recording, and the marks of some of its moments. */
function marked(settings: Partial<Settings>) {
  const { timeline } = simulate({ ...DEFAULTS, load: 100_000, operations: 150_000, ...settings });
  const axis = keyAxis(timeline.keyFrames());
  const bands = bandsOf(timeline.keyFrames(), HEIGHT);
  const moments = Array.from({ length: 40 }, (_, i) => {
    const state = timeline.after(Math.floor(((i + 1) * timeline.length) / 40));
    return { state, marks: policyMarks(state, axis, bands, WIDTH) };
  });
  return { axis, bands, moments };
}

test("buckets tile the key space, and their temperatures are shares of what was flushed", () => {
  const { bands, moments } = marked({ policy: "bucket", workload: "shifting" });
  expect(bands.temperatures).toBeDefined();
  const counts = new Set<number>();
  for (const { state, marks } of moments.filter(({ marks }) => marks.buckets.length > 0)) {
    counts.add(marks.buckets.length);
    let end = 0;
    for (const { x, width } of marks.buckets) {
      expect(x).toBeCloseTo(end, 6);
      expect(width).toBeGreaterThanOrEqual(0);
      end = x + width;
    }
    expect(end).toBeCloseTo(WIDTH, 6);
    // BT = N * F / sum of F, with the 4 buckets of the start.
    const buckets = bucketsOf(state.facts);
    const sum = buckets.reduce((sum, { volume }) => sum + volume, 0);
    buckets.forEach(({ volume, temperature }, i) => {
      expect(temperature).toBeCloseTo((4 * volume) / sum, 2);
      expect(marks.buckets[i]?.temperature).toBe(temperature);
    });
  }
  // A hot range that shifts splits and joins them.
  expect(counts.size).toBeGreaterThan(1);
});

/** Whether a table lies on both sides of a position. */
const crosses = (axis: ReturnType<typeof keyAxis>, at: number) => (table: PlacedTable) => {
  const [from, to] = axis.span(table);
  return from < at - 1e-9 && at + 1e-9 < to;
};

test("no table of the two levels lies on both sides of a cut that they share", () => {
  const { axis, bands, moments } = marked({ policy: "spooky", workload: "uniform" });
  let seen = 0;
  for (const { state, marks } of moments) {
    for (const { x, top, bottom } of marks.cuts) {
      seen += 1;
      const between = state.levels.filter((_, depth) => {
        const band = bands.levels[depth];
        return band !== undefined && band.top >= top && band.top + band.height <= bottom;
      });
      expect(between.flatMap(tablesOf).filter(crosses(axis, x / WIDTH))).toEqual([]);
    }
  }
  expect(seen).toBeGreaterThan(10);
});

test("levels that agree on no cuts share few, by Spooky many", () => {
  const cuts = (policy: Settings["policy"]) =>
    marked({ policy, workload: "uniform" }).moments.reduce(
      (sum, m) => sum + m.marks.cuts.length,
      0,
    );
  expect(cuts("spooky")).toBeGreaterThan(2 * cuts("leveled"));
});

test("Vertiorizon's border lies between its horizontal and its vertical part, others have none", () => {
  const { bands, moments } = marked({ policy: "vertiorizon" });
  const fact = ({ facts }: State) => facts.find(({ name }) => name === "v1-level");
  const last = moments.at(-1);
  const vertical = last && fact(last.state);
  if (last === undefined || vertical === undefined || !("value" in vertical)) throw new Error();
  const [above, below] = [bands.levels[vertical.value - 1], bands.levels[vertical.value]];
  expect(last.marks.border).toBeGreaterThan((above?.top ?? 0) + (above?.height ?? 0));
  expect(last.marks.border).toBeLessThan(below?.top ?? 0);
  for (const { marks } of marked({ policy: "tiered" }).moments) {
    expect(marks).toMatchObject({ buckets: [], border: undefined });
  }
});

test("horizontal tiering's counters are never above those of the levels below", () => {
  const { moments } = marked({ policy: "horizontal-tiering" });
  const first = moments.map(({ state }) => levelFacts(state.facts, "counter"));
  expect(first.some((counters) => counters.size === 3)).toBe(true);
  // A level is merged away when its counter is 0, so that none is above the one below it.
  for (const counters of first) {
    const values = [...counters].sort(([a], [b]) => a - b).map(([, value]) => value);
    expect(values).toEqual(values.toSorted((a, b) => a - b));
  }
});

const table = (smallest: number[], largest: number[]) =>
  ({
    smallest: Uint8Array.from(smallest),
    largest: Uint8Array.from(largest),
  }) as unknown as PlacedTable;

test("a table has one prefix, or those from its first key's to its last key's", () => {
  const byLength: PrefixRule = { length: 2, delimiter: undefined };
  const prefixes = (of: PlacedTable, rule: PrefixRule) =>
    prefixesOf(of, rule)?.map((prefix) => Array.from(prefix));
  expect(prefixes(table([0, 7, 1], [0, 7, 200]), byLength)).toEqual([[0, 7]]);
  expect(prefixes(table([0, 254, 9], [1, 1, 0]), byLength)).toEqual([
    [0, 254],
    [0, 255],
    [1, 0],
    [1, 1],
  ]);
  expect(prefixes(table([0, 0], [9, 0]), byLength)).toBeUndefined();
  const slash: PrefixRule = { length: 0, delimiter: 47 };
  expect(prefixes(table([97, 47, 1], [97, 47, 2]), slash)).toEqual([[97, 47]]);
  expect(prefixes(table([97, 47, 1], [98, 47, 2]), slash)).toBeUndefined();
});

test("only policies that know prefixes have a rule for them", () => {
  expect(prefixRule({ ...DEFAULTS, policy: "ptier" })).toEqual({ length: 2, delimiter: undefined });
  const parameters = { prefixLength: 0, prefixDelimiter: "2f" };
  expect(prefixRule({ ...DEFAULTS, policy: "ptier", parameters })?.delimiter).toBe(47);
  expect(prefixRule({ ...DEFAULTS, policy: "leveled" })).toBeUndefined();
});
