/** The layout: where a state's tables are drawn. */

import { expect, test } from "vitest";
import { compareKeys } from "../src/timeline/key-order.ts";
import { DEFAULTS, POLICIES } from "../src/source/settings.ts";
import { bandsOf } from "../src/layout/bands.ts";
import { CHARTS } from "../src/layout/charts.ts";
import { type Label, placeLabels } from "../src/layout/labels.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { overlapping } from "../src/layout/overlap.ts";
import { boxAt, boxOf } from "../src/layout/rows.ts";
import { strataOf } from "../src/layout/strata.ts";
import { pan, reveal, WHOLE, zoomBy, zoomedAxis } from "../src/layout/zoom.ts";
import { columns, tickStep, tracksHeight, tracksOf } from "../src/layout/tracks.ts";
import { tablesOf } from "../src/timeline/state.ts";
import { simulate } from "./simulator.ts";

const { timeline } = simulate({
  ...DEFAULTS,
  policy: "leveled",
  workload: "uniform",
  load: 200_000,
  operations: 100_000,
});
const [WIDTH, HEIGHT] = [864, 520];
const axis = keyAxis(timeline.keyFrames());
const bands = bandsOf(timeline.keyFrames(), HEIGHT);
const layOut = (count: number) => {
  const state = timeline.after(count);
  return {
    state,
    ...strataOf(state, axis, bands, WIDTH, (group) => timeline.progress.at(group, state.micros)),
  };
};

test("keys keep their order, and a position's key lies there", () => {
  const keys = tablesOf(timeline.end.levels.at(-1)).flatMap(({ smallest, largest }) => [
    smallest,
    largest,
  ]);
  const positions = keys.map((key) => axis.position(key));
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(positions[0]).toBeGreaterThanOrEqual(0);
  expect(positions.at(-1)).toBeLessThanOrEqual(1);
  for (const at of [0.1, 0.35, 0.5, 0.87]) expect(axis.position(axis.key(at))).toBeCloseTo(at, 4);
});

test("equal widths hold equal bytes of the largest level", () => {
  const level = tablesOf(timeline.end.levels.at(-1));
  const total = level.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { smallest, largest, bytes } of level) {
    expect(axis.position(largest) - axis.position(smallest)).toBeCloseTo(bytes / total, 2);
  }
});

test("with one scale a byte is as tall in each level, and all fit", () => {
  const { levels, writing } = bandsOf(timeline.keyFrames(), HEIGHT, { scaleBy: "tree" });
  expect(levels.length).toBeGreaterThan(2);
  expect(new Set(levels.map(({ scale }) => scale)).size).toBe(1);
  expect(writing.top).toBeCloseTo(bands.writing.top);
  const most = Math.max(...levels.map(({ height }) => height));
  expect(levels.at(-1)?.height).toBe(most);
  // The smallest levels take no more than what a name needs.
  expect(levels[0]?.height).toBeLessThan(bands.levels[0]?.height ?? 0);
});

/** Expects that the areas of tables, where they can be seen to be, are their bytes. */
function expectAreasAreBytes(rows: ReturnType<typeof layOut>["rows"]): void {
  const scales = bands.levels.map(({ scale }) => scale);
  const wide = rows
    .flatMap((row) => row.wide)
    .filter(({ level, height }) => height > 2 && height < (bands.levels[level]?.height ?? 0));
  expect(wide.length).toBeGreaterThan(20);
  for (const { table, level, width, height } of wide) {
    expect(width * height).toBeCloseTo(table.bytes * (scales[level] ?? 0) * WIDTH, 3);
  }
}

test("on an axis of plain keys, keys lie as far apart as they differ", () => {
  const plain = keyAxis(timeline.keyFrames(), "keys");
  const number = (key: Uint8Array) => key.slice(0, 6).reduce((sum, byte) => sum * 256 + byte, 0);
  const keys = tablesOf(timeline.end.levels.at(-1)).map(({ smallest }) => smallest);
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) throw new Error("a level with tables");
  const part = (of: (key: Uint8Array) => number, key: Uint8Array) =>
    (of(key) - of(first)) / (of(last) - of(first));
  const apart = keys.map((key) => part(number, key));
  keys.forEach((key, i) => expect(part(plain.position, key)).toBeCloseTo(apart[i] ?? 0, 6));
  const byBytes = keys.map((key, i) => Math.abs(part(axis.position, key) - (apart[i] ?? 0)));
  expect(Math.max(...byBytes)).toBeGreaterThan(1e-4);
  const { rows } = strataOf(timeline.end, plain, bands, WIDTH, () => ({ read: 0, written: 0 }));
  expectAreasAreBytes(rows);
});

/** The boxes of all tables. */
const boxesOf = ({ rows }: ReturnType<typeof layOut>) =>
  rows.flatMap((row) => row.tables.map((table) => row.box(table)));

test("area is bytes, in each level", () => {
  const { rows } = layOut(timeline.length);
  expectAreasAreBytes(rows);
});

test("the area of narrow tables together is their bytes", () => {
  const narrow = 120;
  const { state } = layOut(timeline.length);
  const { rows } = strataOf(state, axis, bands, narrow, () => ({ read: 0, written: 0 }));
  const row = rows.find(({ tables, wide }) => wide.length === 0 && tables.length > 50);
  if (row === undefined) throw new Error("no row of narrow tables");
  const area = row.skyline.reduce((sum, height) => sum + height, 0);
  const bytes = row.tables.reduce((sum, table) => sum + table.bytes, 0);
  expect(area).toBeCloseTo(bytes * (bands.levels[row.level]?.scale ?? 0) * narrow, 3);
  for (const table of row.tables) {
    const { x, y, height } = row.box(table);
    expect(y + height).toBeCloseTo(row.bottom, 6);
    expect(height).toBeGreaterThanOrEqual(row.skyline[Math.floor(x)] ?? 0);
  }
});

test("a table is found where it is drawn, and one that is not there is not", () => {
  const { rows } = layOut(timeline.length);
  for (const row of rows) {
    for (const box of row.wide.filter(({ height }) => height > 5)) {
      const found = boxAt(rows, box.x + box.width / 2, box.y + box.height / 2);
      expect(found?.table).toBe(box.table);
      expect(boxOf(rows, box.table.id)).toEqual(box);
    }
  }
  expect(boxAt(rows, -10, 10)).toBeUndefined();
  expect(boxOf(rows, -1)).toBeUndefined();
});

test("a level that stays as it is, is laid out once", () => {
  const before = timeline.length - 1;
  const [a, b] = [layOut(before), layOut(timeline.length)];
  const same = a.state.levels.flatMap((level, i) => (b.state.levels[i] === level ? [i] : []));
  expect(same.length).toBeGreaterThan(0);
  for (const depth of same) {
    const of = ({ rows }: typeof a) => rows.filter(({ level }) => level === depth);
    of(a).forEach((row, i) => expect(of(b)[i]).toBe(row));
  }
});

test("tables lie in their level's band and inside the canvas, runs on each other", () => {
  for (let count = 0; count <= timeline.length; count += 41) {
    const outside = boxesOf(layOut(count)).filter(({ x, y, width, height, level }) => {
      const { top, height: tall } = bands.levels[level] ?? { top: 0, height: 0 };
      return x < 0 || x + width > WIDTH + 1 || y < top - 1 || y + height > top + tall + 0.001;
    });
    expect(outside).toEqual([]);
  }
  const last = bands.writing;
  expect(last.top + last.height).toBeLessThanOrEqual(HEIGHT);
});

test("a merge's front passes over its inputs from their first key to their last", () => {
  const fronts = new Map<string, number>();
  const wrong: string[] = [];
  for (let count = 0; count <= timeline.length; count += 3) {
    for (const { group, x, width, front, output } of layOut(count).groups) {
      const key = `${group.compaction}/${group.id}`;
      const passes =
        front >= Math.max(x, (fronts.get(key) ?? x) - 0.01) && front <= x + width + 0.01;
      if (!passes || output.y + output.height > HEIGHT) wrong.push(key);
      fronts.set(key, front);
    }
  }
  expect(wrong).toEqual([]);
  expect(fronts.size).toBeGreaterThan(10);
});

test("the ribbon's tracks do not overlap, and its columns are the last samples up to their times", () => {
  const tracks = tracksOf(5, 4);
  tracks.reduce((bottom, { top, height }) => {
    expect(top).toBeGreaterThanOrEqual(bottom);
    return top + height;
  }, 0);
  expect(tracksHeight(tracks)).toBe(Math.max(...tracks.map(({ top, height }) => top + height)));
  const { samples } = timeline.history;
  const found = columns(samples, timeline.duration, 100);
  expect(found).toHaveLength(100);
  found.forEach((sample, x) => {
    const until = ((x + 1) / 100) * timeline.duration;
    expect(sample).toBe(samples.findLast(({ micros }) => micros <= until) ?? samples[0]);
  });
});

test("a chart of what is accepted a second has no debt where all is counted anew", () => {
  const [first] = timeline.history.samples;
  if (first === undefined) throw new Error("a sample");
  const samples = [
    { ...first, micros: 0, accepted: 0 },
    { ...first, micros: 5e6, accepted: 10e6 },
    { ...first, micros: 6e6, accepted: 0 },
    { ...first, micros: 10e6, accepted: 0 },
  ];
  const throughput = CHARTS.find(({ name }) => name === "accepted");
  const found = throughput?.of(samples, 10e6, 100) ?? [];
  expect(found).toHaveLength(100);
  expect(Math.min(...found)).toBe(0);
  // All of it within the second before.
  expect(Math.max(...found)).toBeCloseTo(10e6);
});

test("ticks are some eight, at round numbers", () => {
  for (const duration of [0.003, 0.9, 7, 23.5, 412, 86_400]) {
    const step = tickStep(duration);
    expect(duration / step).toBeGreaterThan(3);
    expect(duration / step).toBeLessThanOrEqual(8);
    expect(["1", "2", "5"]).toContain(step.toExponential().charAt(0));
  }
});

test("tables that share keys are those whose ranges meet", () => {
  const { levels } = timeline.after(Math.floor(timeline.length / 2));
  const runs = levels.flatMap(({ runs }) => runs);
  const tables = runs.flatMap(({ tables }) => tables);
  let most = 0;
  for (const table of tables) {
    const meets = tables.filter(
      (other) =>
        other !== table &&
        compareKeys(other.smallest, table.largest) <= 0 &&
        compareKeys(other.largest, table.smallest) >= 0,
    );
    expect(overlapping(runs, table)).toEqual(meets);
    most = Math.max(most, meets.length);
  }
  expect(most).toBeGreaterThan(3);
});

test("a part of the key space is drawn wider, and as tall", () => {
  const zoom = zoomBy(WHOLE, 4, 0.5);
  expect(zoom).toEqual({ from: 0.375, to: 0.625 });
  const near = zoomedAxis(axis, zoom);
  for (const at of [0.1, 0.5, 0.9]) {
    expect(near.position(near.key(at))).toBeCloseTo(at, 3);
    expect(axis.position(near.key(at))).toBeCloseTo(0.375 + at / 4, 4);
  }
  const state = timeline.after(timeline.length);
  const [all, part] = [axis, near].map((axis) => {
    const { rows } = strataOf(state, axis, bands, WIDTH, () => ({ read: 0, written: 0 }));
    return new Map(rows.flatMap(({ wide }) => wide.map((box) => [box.table.id, box])));
  });
  const seen = [...(part ?? [])].filter(([id]) => all?.has(id));
  expect(seen.length).toBeGreaterThan(5);
  expect(part?.size).toBeLessThan(all?.size ?? 0);
  for (const [id, box] of seen) {
    expect(box.width).toBeCloseTo(4 * (all?.get(id)?.width ?? 0), 3);
    expect(box.height).toBeCloseTo(all?.get(id)?.height ?? 0, 3);
    expect(box.x + box.width).toBeGreaterThanOrEqual(0);
    expect(box.x).toBeLessThanOrEqual(WIDTH);
  }
});

test("what is shown stays within all keys, and moves to what is to be seen", () => {
  const zoom = zoomBy(WHOLE, 2, 1);
  expect(zoom).toEqual({ from: 0.5, to: 1 });
  expect(pan(zoom, 3)).toEqual(zoom);
  expect(pan(zoom, -0.5)).toEqual({ from: 0.25, to: 0.75 });
  expect(reveal(zoom, [0.9, 1.4])).toBe(zoom);
  expect(reveal(zoom, [-0.6, -0.4])).toEqual({ from: 0, to: 0.5 });
  expect(zoomBy(zoom, 0.5, 0.3)).toBe(WHOLE);
  const deepest = zoomBy(zoom, 1e6, 0.5);
  expect(deepest.to - deepest.from).toBeCloseTo(1 / 32, 9);
});

/** Boxes of names, as the page draws them. */
const rectanglesOf = (labels: readonly Label[]) =>
  labels.map(({ name, x, y }) => [x, x + name.length * 5.4, y - 10, y + 3] as const);
type Bounds = ReturnType<typeof rectanglesOf>[number];
const meets = (a: Bounds, b: Bounds) => a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3];

test("names of dots lie on no dot and on no other name", () => {
  const plot = { left: 0, right: 200, top: 0, bottom: 120 };
  const dots = [
    { name: "one", x: 50, y: 50, r: 5 },
    { name: "beside it", x: 60, y: 52, r: 5 },
    { name: "at the edge", x: 196, y: 90, r: 5 },
  ];
  const labels = placeLabels(dots, dots, plot);
  expect(labels.map(({ name }) => name)).toEqual(dots.map(({ name }) => name));
  const boxes = rectanglesOf(labels);
  for (const [i, box] of boxes.entries()) {
    expect(box[0]).toBeGreaterThanOrEqual(0);
    expect(box[1]).toBeLessThanOrEqual(200);
    for (const { x, y, r } of dots) expect(meets(box, [x - r, x + r, y - r, y + r])).toBe(false);
    for (const other of boxes.slice(i + 1)) expect(meets(box, other)).toBe(false);
  }
});

test("all policies are named on a plot as narrow as a phone", () => {
  // They lie in a cluster: one in a corner of the plot, as where all write little.
  const plot = { left: 37, right: 318, top: 16, bottom: 264 };
  const dots = POLICIES.map(({ name }, i) => ({
    name,
    x: 60 + 11 * (i % 4),
    y: 240 - 7 * i,
    r: 6,
  }));
  const labels = placeLabels(dots, dots, plot);
  expect(labels).toHaveLength(POLICIES.length);
  const boxes = rectanglesOf(labels);
  for (const [i, box] of boxes.entries()) {
    for (const { x, y, r } of dots) expect(meets(box, [x - r, x + r, y - r, y + r])).toBe(false);
    for (const other of boxes.slice(i + 1)) expect(meets(box, other)).toBe(false);
  }
  // A name away from its dot has a line to it.
  for (const { name, x, y, leader } of labels) {
    const dot = dots.find((one) => one.name === name);
    const away = Math.abs((dot?.y ?? 0) - (y - 4)) > 30;
    if (away) expect(leader, `${name} at ${x}`).toBeDefined();
  }
});

test("a name that is as near to another dot has a line to its own", () => {
  const plot = { left: 0, right: 400, top: 0, bottom: 200 };
  // Two dots that nearly touch, as of policies with the same costs.
  const dots = [
    { name: "one", x: 200, y: 100, r: 4 },
    { name: "the other", x: 209, y: 104, r: 6 },
  ];
  const gap = (dot: (typeof dots)[number], [left, right, top, bottom]: Bounds) => {
    const x = Math.min(Math.max(dot.x, left), right);
    const y = Math.min(Math.max(dot.y, top), bottom);
    return Math.hypot(x - dot.x, y - dot.y) - dot.r;
  };
  const labels = placeLabels(dots, dots, plot);
  for (const [i, box] of rectanglesOf(labels).entries()) {
    const [own, other] = i === 0 ? dots : dots.toReversed();
    if (own === undefined || other === undefined) throw new Error("there are two dots");
    const clear = gap(own, box) < gap(other, box);
    expect(clear || labels[i]?.leader !== undefined, labels[i]?.name).toBe(true);
  }
});
