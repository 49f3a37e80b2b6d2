/** Moments of chapters: each is in the recording of its chapter, and what is said of it happens. */

import { describe, expect, test } from "vitest";
import { CHAPTERS } from "../src/chapters/chapters.ts";
import { toSvg } from "../src/canvas/svg-pen.ts";
import { drawSight } from "../src/canvas/sight.ts";
import type { Palette } from "../src/canvas/palette.ts";
import { bandsOf } from "../src/layout/bands.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { overlapping } from "../src/layout/overlap.ts";
import { arrowTo, sightBox } from "../src/layout/sight.ts";
import { strataOf } from "../src/layout/strata.ts";
import { decode, encode } from "../src/source/link.ts";
import type { Settings } from "../src/source/settings.ts";
import { compareKeys } from "../src/timeline/key-order.ts";
import { bucketsOf, levelFacts } from "../src/timeline/facts.ts";
import { type Sight, type SightName, sightOf } from "../src/timeline/sights.ts";
import {
  levelBytes,
  type PlacedTable,
  type State,
  storeBytes,
  tableOf,
  tablesOf,
} from "../src/timeline/state.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { simulate } from "./simulator.ts";

const recorded = new Map<Settings, Timeline>();

/** Returns the recording of a chapter. */
function recording(settings: Settings): Timeline {
  const timeline = recorded.get(settings) ?? simulate(settings).timeline;
  recorded.set(settings, timeline);
  return timeline;
}

const WATCHED = CHAPTERS.flatMap(({ id, watch }) =>
  (watch?.sights ?? []).map((name) => ({ id, name, settings: watch?.settings as Settings })),
);

/** Returns the sight of a chapter, which it must have. */
function sightIn(timeline: Timeline, name: SightName): Sight {
  const sight = sightOf(timeline, name);
  if (sight === undefined) throw new Error(`no moment of ${name}`);
  return sight;
}

/** Returns the first two bytes of a key as a number. */
const prefixOf = (key: Uint8Array) => (key[0] ?? 0) * 256 + (key[1] ?? 0);

/** Returns the table that a sight points at. */
function pointed({ target }: Sight, state: State): { table: PlacedTable; depth: number } {
  const ids = "tables" in target ? target.tables : [];
  const found = ids.map((id) => tableOf(state, id)).find((found) => found !== undefined);
  if (found === undefined) throw new Error(`none of the tables ${ids}`);
  return found;
}

const dead = (state: State) =>
  state.levels.map((level) => tablesOf(level).reduce((sum, { tombstones }) => sum + tombstones, 0));

/** Checks that what a sight's sentence says happens: from its start to its end, or at its moment. */
const HAPPENS: Record<
  SightName,
  (states: [from: State, at: State, to: State], sight: Sight) => void
> = {
  newest([, from], sight) {
    const { table, depth } = pointed(sight, from);
    expect(depth).toBe(0);
    const below = from.levels.slice(1).flatMap(({ runs }) => runs);
    expect(overlapping(below, table).length).toBeGreaterThan(1);
    const newer = from.levels.flatMap(tablesOf).filter(({ lastSeq }) => lastSeq > table.lastSeq);
    expect(newer).toEqual([]);
  },
  rewrite([, from, to]) {
    const written = to.totals.mergeWritten - from.totals.mergeWritten;
    expect(written).toBeGreaterThan(from.groups[0]?.downBytes ?? Infinity);
  },
  runs([from], sight) {
    const { table, depth } = pointed(sight, from);
    const runs = from.levels[depth]?.runs ?? [];
    expect(runs.length).toBeGreaterThan(2);
    const others = runs.filter(({ tables }) => !tables.includes(table));
    expect(others).toHaveLength(runs.length - 1);
    for (const run of others) expect(overlapping([run], table).length).toBeGreaterThan(0);
  },
  "wrong-filter"([from]) {
    expect(from.levels.flatMap(tablesOf).every(({ filterBits }) => filterBits > 0)).toBe(true);
  },
  wait([from, , to], { sentence }) {
    expect(sentence).toMatch(/as many as it may have; a merge is due from \d+ on\./);
    expect(from.stall?.reason).toBe("level0");
    expect(to.stall).toBeNull();
    expect(to.stalledMicros).toBeGreaterThan(from.stalledMicros);
    expect(to.levels[0]?.runs.length).toBeLessThan(from.levels[0]?.runs.length ?? 0);
  },
  kept([from, , to], sight) {
    const { table, depth } = pointed(sight, to);
    expect(table.tombstones).toBeGreaterThan(0);
    expect(levelBytes(from.levels[depth + 1])).toBeGreaterThan(0);
  },
  dropped([from, , to], sight) {
    expect(pointed(sight, from).table.tombstones).toBeGreaterThan(0);
    const { table, depth } = pointed(sight, to);
    expect(table.tombstones).toBe(0);
    expect(to.levels.slice(depth + 1).every((level) => levelBytes(level) === 0)).toBe(true);
    expect(dead(to)[depth]).toBe(0);
  },
  move([from, , to], sight) {
    const [before, after] = [pointed(sight, from), pointed(sight, to)];
    expect(after.table.id).toBe(before.table.id);
    expect(after.table.compaction).not.toBe(before.table.compaction);
    expect(after.table.arrival).toBe("moved");
    expect(to.totals.moved).toBeGreaterThan(from.totals.moved);
    const beside = to.groups.filter(({ compaction }) => compaction === after.table.compaction);
    const inputs = beside.flatMap(({ inputs }) => inputs.flatMap((id) => tableOf(to, id) ?? []));
    expect(inputs.length).toBeGreaterThan(1);
    for (const { table } of inputs)
      expect(overlapping([{ tables: [after.table] }], table)).toEqual([]);
  },
  moves([, from], { target, sentence }) {
    expect(sentence).toMatch(/^None of the \d+ tables of this compaction overlaps another/);
    const ids = "tables" in target ? target.tables : [];
    expect(from.totals.moved).toBeGreaterThan(0);
    const spans = ids.flatMap((id) => {
      const found = tableOf(from, id)?.table;
      return found === undefined ? [] : [[prefixOf(found.smallest), prefixOf(found.largest)]];
    });
    expect(spans).toHaveLength(ids.length);
    // No prefix is in two of them.
    for (const [first = 0] of spans)
      expect(spans.filter(([from = 0, to = 0]) => from <= first && first <= to)).toHaveLength(1);
  },
  admission([from, , to], sight) {
    const { depth } = pointed(sight, from);
    expect(from.levels[depth]?.runs.length).toBeGreaterThan(1);
    expect(pointed(sight, to).depth).toBe(depth + 1);
    expect(levelFacts(from.facts, "counter").get(depth)).toBe(1);
    expect(levelFacts(to.facts, "counter").get(depth)).not.toBe(0);
  },
  dividing([, from]) {
    const cuts = from.groups.flatMap(({ cuts }) => cuts);
    const largest = tablesOf(from.levels.at(-1));
    expect(cuts.length).toBeGreaterThan(0);
    expect(largest.length).toBeGreaterThan(1);
    for (const cut of cuts)
      for (const { smallest, largest: end } of largest)
        expect(compareKeys(smallest, cut) >= 0 || compareKeys(end, cut) < 0).toBe(true);
  },
  freed([, from, to], sight) {
    const group = from.groups.find(({ inputs }) => inputs.includes(pointed(sight, from).table.id));
    expect(group?.inputs.filter((id) => tableOf(to, id) !== undefined)).toEqual([]);
    const whole = storeBytes(from) + (group?.totalBytes ?? 0) - (group?.writtenBytes ?? 0);
    expect(storeBytes(to)).toBeLessThan(whole);
  },
  split([from, , to], { target, sentence }) {
    if (!("key" in target)) throw new Error("a split is at a key");
    const hottest = Math.max(...bucketsOf(from.facts).map(({ temperature }) => temperature));
    expect(hottest).toBeGreaterThan(2);
    expect(sentence).toContain("an equal share of N = 8 buckets");
    expect(bucketsOf(to.facts).length).toBeGreaterThan(bucketsOf(from.facts).length);
  },
};

describe.each(WATCHED)("$id, $name", ({ name, settings }) => {
  test("what the sentence says happens", () => {
    const timeline = recording(settings);
    const sight = sightIn(timeline, name);
    expect(sight.at).toBeGreaterThanOrEqual(sight.from);
    expect(sight.to).toBeGreaterThan(sight.at);
    const moments = [sight.from, sight.at, sight.to].map((micros) => timeline.at(micros));
    HAPPENS[name](moments as [State, State, State], sight);
  });

  test("the moment is the same while its recording grows", () => {
    const timeline = recording(settings);
    const sight = sightIn(timeline, name);
    const part = new Timeline();
    part.append(timeline.events(0, timeline.countAt(sight.to)));
    expect(sightOf(part, name)).toEqual(sight);
  });

  test("the arrow is in the picture, at the thing", () => {
    const timeline = recording(settings);
    const { at, target } = sightIn(timeline, name);
    const state = timeline.at(at);
    const axis = keyAxis(timeline.keyFrames());
    const read = state.levels[1]?.runs[0]?.tables[0];
    const wrong = read && { table: read.id, key: read.smallest };
    for (const [width, height] of [
      [864, 480],
      [336, 460],
    ] as const) {
      const bands = bandsOf(timeline.keyFrames(), height);
      const strata = strataOf(state, axis, bands, width, () => ({ read: 0, written: 0 }));
      const box = sightBox(target, { axis, bands, strata, width }, wrong);
      if (box === undefined) throw new Error("nothing to point at");
      const { label, tip } = arrowTo(box, { width: 72, height: 20 }, { width });
      expect(label.x).toBeGreaterThanOrEqual(0);
      expect(label.x + label.width).toBeLessThanOrEqual(width);
      expect(label.y).toBeGreaterThanOrEqual(0);
      expect(label.y + label.height).toBeLessThanOrEqual(height);
      expect(tip[0]).toBeGreaterThanOrEqual(box.x - 10);
      expect(tip[0]).toBeLessThanOrEqual(box.x + box.width);
    }
  });
});

test("most chapters watch a recording", () => {
  const without = CHAPTERS.filter(({ watch }) => watch === undefined).map(({ id }) => id);
  // A crash is on files, and a choice is between many recordings.
  expect(without).toEqual(["crash", "choose"]);
});

test("a recording without such a moment has none", () => {
  const empty = new Timeline();
  for (const { name } of WATCHED) expect(sightOf(empty, name)).toBeUndefined();
});

test("the arrow is drawn as SVG, and a link leads to it", () => {
  const measure = { font: "", measureText: (text: string) => ({ width: 6 * text.length }) };
  const palette = { ink: "#111", bed: "#eee" } as Palette;
  const box = { x: 100, y: 200, width: 40, height: 10 };
  const svg = toSvg(864, 480, measure as unknown as CanvasRenderingContext2D, (pen) =>
    drawSight(pen, box, { width: 864, palette }),
  );
  expect(svg).toContain(">watch this</text>");
  expect(svg).not.toMatch(/NaN|undefined/);
  const [first] = WATCHED;
  if (first === undefined) throw new Error("nothing is watched");
  const { settings, name } = first;
  expect(decode(encode({ settings, watch: name, rivals: [] }))).toMatchObject({
    watch: name,
    rivals: [],
  });
});
