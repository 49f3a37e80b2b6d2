/** Reads: at every moment they ask the tables that the tree has then, and say what the simulator says. */

import type { Step } from "terrane";
import { expect, test } from "vitest";
import { bandsOf } from "../src/layout/bands.ts";
import { boreholeOf } from "../src/layout/borehole.ts";
import { keyAxis } from "../src/layout/key-axis.ts";
import { boxOf } from "../src/layout/rows.ts";
import { strataOf } from "../src/layout/strata.ts";
import { parseReadPath } from "../src/source/event-log.ts";
import { fromHex, keyHex } from "../src/source/hex.ts";
import { decode, encode } from "../src/source/link.ts";
import { placesOf, type ReadPath } from "../src/source/read-path.ts";
import { configOf, DEFAULTS, type Settings } from "../src/source/settings.ts";
import { tablesOf } from "../src/timeline/state.ts";
import { answerText, placesText, readSum } from "../src/views/words.ts";
import { simulate, simulation } from "./simulator.ts";

const SETTINGS: Settings = {
  ...DEFAULTS,
  policy: "tiered",
  workload: "deletes",
  load: 60_000,
  operations: 90_000,
};
const { timeline } = simulate(SETTINGS);
const axis = keyAxis(timeline.keyFrames());

/** The read of the next key from a place on, at a part of the recording. */
function readAt(part: number, position: number, next = true): ReadPath {
  const micros = Math.floor(timeline.duration * part);
  const again = simulation(configOf(SETTINGS));
  again.advance(Infinity, (micros + 0.999) / 1e6);
  const { key, steps } = parseReadPath(again.explain(axis.key(position), next));
  again.free();
  return { key, micros, places: placesOf(steps) };
}

test("a read at a moment asks tables that the tree has at that moment, newest first", () => {
  const verdicts = new Set<string>();
  for (const part of [0.2, 0.5, 0.77, 1]) {
    const state = timeline.at(Math.floor(timeline.duration * part));
    for (let i = 0; i < 12; i++) {
      const path = readAt(part, (i + 0.5) / 12);
      let depth = -1;
      for (const { memtable, level, table, verdict } of path.places) {
        verdicts.add(verdict);
        if (memtable !== undefined) continue;
        expect(tablesOf(state.levels[level]).map(({ id }) => id)).toContain(table);
        expect(level).toBeGreaterThanOrEqual(depth);
        depth = level;
      }
      // A key that is on disk is found, or was deleted.
      expect(["found", "deleted"]).toContain(path.places.at(-1)?.verdict);
    }
  }
  expect([...verdicts].sort()).toEqual(expect.arrayContaining(["deleted", "found", "no"]));
});

test("a key that nobody wrote is in no place, and blocks of it are read for nothing", () => {
  const paths = Array.from({ length: 10 }, (_, i) => readAt(1, (i + 0.5) / 10, false));
  for (const { places } of paths) {
    for (const { verdict } of places) expect(["no", "wasted"]).toContain(verdict);
  }
  expect(readSum(paths[0] as ReadPath)).toMatch(/^No place has the key: \d+ places? asked/);
});

const STEPS: Step[] = [
  { step: "memtable", place: 0 },
  { step: "absent", falsePositive: false },
  { step: "run", level: 0, run: 9, table: null },
  { step: "run", level: 0, run: 8, table: 5 },
  { step: "filter", mayContain: false },
  { step: "absent", falsePositive: false },
  { step: "run", level: 1, run: 3, table: 4 },
  { step: "filter", mayContain: true },
  { step: "block", offset: 0, bytes: 4096, origin: "vfs", read: 4096 },
  { step: "absent", falsePositive: true },
  { step: "run", level: 2, run: 1, table: 2 },
  { step: "filter", mayContain: true },
  { step: "block", offset: 0, bytes: 4096, origin: "cache", read: 0 },
  { step: "value", sequence: 12, bytes: 100 },
];

test("places say in words what the steps of a read were", () => {
  const places = placesOf(STEPS);
  expect(places.map(({ verdict }) => verdict)).toEqual(["no", "no", "wasted", "found"]);
  expect(places.map((place) => placesText([place]))).toEqual([
    "memtable: absent",
    "filter: no",
    "filter: yes, and wrong; 1 block from disk for nothing",
    "found (write 12); 1 block from the cache",
  ]);
  const path = { key: new Uint8Array(), micros: 0, places };
  expect(readSum(path)).toBe(
    "The key was found: 4 places asked, 2 blocks read (4 KiB from disk), 1 for nothing.",
  );
});

test("a scan's places say where its cursors stand, and which of them is first", () => {
  const key = (text: string) => new TextEncoder().encode(text);
  const places = placesOf([
    { step: "memtable", place: 0 },
    { step: "stands", key: null },
    { step: "run", level: 0, run: 9, table: null },
    { step: "table", table: 7 },
    { step: "block", offset: 0, bytes: 4096, origin: "vfs", read: 4096 },
    { step: "stands", key: key("oslo") },
    { step: "run", level: 1, run: 3, table: 4 },
    { step: "block", offset: 0, bytes: 4096, origin: "cache", read: 0 },
    { step: "table", table: 5 },
    { step: "stands", key: key("paris") },
    { step: "run", level: 2, run: 1, table: null },
    { step: "row", key: key("oslo"), bytes: 5 },
  ]);
  expect(places.map(({ table }) => table)).toEqual([undefined, 7, 5]);
  expect(places.map((place) => placesText([place]))).toEqual([
    "memtable: nothing here",
    "the first entry, at oslo; 1 block from disk",
    "at paris; 1 block from the cache",
  ]);
  expect(readSum({ key: key("oslo"), micros: 0, places })).toBe(
    "The first key of the range was found: 3 places asked, 2 blocks read (4 KiB from disk).",
  );
});

test("an answer is text if the value is", () => {
  const answer = (value: Uint8Array | undefined) => answerText({ value, milliseconds: 2 });
  expect(answer(new TextEncoder().encode("grün"))).toBe("grün");
  expect(answer(Uint8Array.of(0xff, 0xfe))).toBe("2 bytes, not text.");
  expect(answer(undefined)).toBe("No such key (2 ms).");
});

test("a borehole's marks lie in the tables that were asked, and its labels apart", () => {
  const bands = bandsOf(timeline.keyFrames(), 520);
  const path = readAt(1, 0.4);
  const strata = strataOf(timeline.end, axis, bands, 864, () => ({ read: 0, written: 0 }));
  const hole = boreholeOf(path, path.places.length, { axis, bands, strata, width: 864 });
  expect(hole.marks).toHaveLength(path.places.length);
  for (const { y, place } of hole.marks) {
    const box = boxOf(strata.rows, place.table);
    if (box === undefined) continue;
    expect(y).toBeGreaterThanOrEqual(box.y);
    expect(y).toBeLessThanOrEqual(box.y + box.height);
    expect(hole.x).toBeGreaterThanOrEqual(box.x - 0.01);
    expect(hole.x).toBeLessThanOrEqual(box.x + box.width + 0.01);
  }
  hole.labels.reduce((above, { y }) => {
    expect(y).toBeGreaterThanOrEqual(above + 15);
    return y;
  }, -15);
  expect(boreholeOf(path, 1, { axis, bands, strata, width: 864 }).marks).toHaveLength(1);
});

test("a link has the key that is read", () => {
  const key = Uint8Array.from([0, 15, 255]);
  expect(keyHex(key)).toBe("000fff");
  expect(fromHex("0x000FFf")).toEqual(key);
  expect(fromHex("xyz")).toBeUndefined();
  expect(decode(encode({ settings: DEFAULTS, read: key })).read).toEqual(key);
  expect(decode(encode({ settings: DEFAULTS })).read).toBeUndefined();
});
