/** Background work at a moment, as events tell it. */

import { expect, test } from "vitest";
import { Elapsed } from "../src/timeline/elapsed.ts";
import { backgroundAt, WINDOW } from "../src/timeline/background.ts";
import type { RecordedEvent } from "../src/timeline/events.ts";
import { Timeline } from "../src/timeline/timeline.ts";

test("what waits for a worker, and slowdowns, are those of the moment", () => {
  const timeline = new Timeline();
  const events = [
    { type: "memtable-sealed", micros: 10, bytes: 5 },
    { type: "memtable-sealed", micros: 20, bytes: 5 },
    { type: "slowdown-begun", micros: 30, reason: "level0" },
    { type: "compaction-begun", micros: 40, compaction: 1, groups: 3 },
    { type: "group-begun", micros: 50, compaction: 1, inputs: [7], cuts: [], moved: false },
    { type: "slowdown-ended", micros: 60, reason: "level0", lastedMicros: 30 },
    { type: "stalled", micros: 70, reason: "level0" },
    { type: "slowdown-begun", micros: 80, reason: "memtables" },
  ];
  timeline.append(events as unknown as RecordedEvent[]);
  const { jobs, heldUp, workers } = backgroundAt(timeline, 100, 0);
  const [flushes, merges] = jobs.map(({ queued, running }) => [queued, running]);
  expect([flushes, merges]).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(heldUp).toEqual([
    { reason: "level0", stalled: 30, slowed: 30 },
    { reason: "memtables", stalled: 0, slowed: 20 },
  ]);
  expect(workers).toEqual([0.5]);
  const [early] = backgroundAt(timeline, 45, 0).heldUp;
  expect(early).toEqual({ reason: "level0", stalled: 0, slowed: 15 });
});

test("rates and shares are those of the last second, and merges count as far as they are", () => {
  const timeline = new Timeline();
  const group = { compaction: 1, inputs: [7], cuts: [], moved: false, level: 1, run: 9 };
  const table = { id: 7, bytes: 4000, smallest: new Uint8Array(), largest: new Uint8Array() };
  const events = [
    { type: "flushed", micros: 0, run: 1, tables: [table] },
    { type: "group-begun", micros: WINDOW, ...group },
    {
      type: "merge-progress",
      micros: 2 * WINDOW,
      compaction: 1,
      group: 7,
      readBytes: 3000,
      totalBytes: 4000,
      writtenBytes: 1000,
    },
    { type: "flushed", micros: 2 * WINDOW, run: 2, tables: [{ ...table, id: 8, bytes: 500 }] },
    { type: "group-installed", micros: 2.5 * WINDOW, ...group, outputs: [{ ...table, id: 9 }] },
  ];
  timeline.append(events as unknown as RecordedEvent[]);
  const at = (seconds: number) => {
    const { jobs, workers } = backgroundAt(timeline, seconds * WINDOW, 2);
    return [...jobs.map(({ bytesPerSecond }) => bytesPerSecond), ...workers];
  };
  // Flushes, merges, and the two workers.
  expect(at(2)).toEqual([500, 4000, 1, 0]);
  // Half of a second before, half of the way; 4000 are read, and as many written.
  expect(at(2.5)).toEqual([500, 8000 - 2000, 1, 0]);
  expect(at(3)).toEqual([0, 4000, 0.5, 0]);
  expect(at(9)).toEqual([0, 0, 0, 0]);
});

test("time that went on is counted to the moment, forward and backward", () => {
  const elapsed = new Elapsed();
  expect(elapsed.until(10)).toBe(0);
  for (let at = 0; at < 1000; at += 10) {
    elapsed.begin(at);
    elapsed.end(at + 3);
  }
  elapsed.begin(1000);
  const moments = [1500, 999, 995, 992, 13, 12, 10, 9, 3, 1, 0, -5];
  const at = (micros: number) =>
    micros < 0 ? 0 : 3 * Math.floor(micros / 10) + Math.min(micros % 10, 3);
  expect(moments.map((micros) => elapsed.until(micros))).toEqual(
    moments.map((micros) => (micros > 1000 ? 300 + micros - 1000 : at(micros))),
  );
});
