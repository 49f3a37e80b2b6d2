/** The pace of reading: each decision is held, and none is passed over. */

import { expect, test } from "vitest";
import type { RecordedEvent } from "../src/timeline/events.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { ReadingPace } from "../src/views/reading-pace.ts";

/** A recording of flushes, moves and two decisions, and the time of the visitor for which each moment of it is held. */
function played(calm: boolean): { held: Map<number, number>; lasted: number } {
  const timeline = new Timeline();
  const reasons = ["short", "a reason of many more words than the other one"];
  const decided = reasons.map((reason, i) => {
    return {
      type: "compaction-begun",
      micros: (i + 1) * 3e6,
      compaction: i,
      groups: 1,
      reason,
      terms: [],
    };
  });
  const flushed = (micros: number) => ({ type: "flushed", micros, tables: [], bytes: 1, files: 1 });
  const moved = (micros: number) => ({
    ...{ type: "group-installed", micros, compaction: 0, level: 1, moved: true },
    ...{ inputs: [], outputs: [], bytes: 0 },
  });
  timeline.append([
    flushed(1e6),
    flushed(2e6),
    decided[0],
    moved(4e6),
    moved(5e6),
    decided[1],
    { type: "compaction-ended", micros: 7e6 },
  ] as unknown as RecordedEvent[]);
  const pace = new ReadingPace();
  pace.calm = calm;
  const held = new Map<number, number>();
  let cursor = 0;
  let now = 1;
  for (; cursor < 7e6; now += 100) {
    const step = pace.step(timeline, cursor, 7e6, now, 100);
    if (step === undefined) held.set(cursor, (held.get(cursor) ?? 0) + 1);
    else cursor = step.cursor;
    expect(now).toBeLessThan(60_000);
  }
  return { held, lasted: now };
}

test("time stops at each decision while its reason is read", () => {
  const { held } = played(false);
  expect([...held.keys()]).toEqual([3e6, 6e6]);
  const [first = 0, second = 0] = held.values();
  expect(first).toBeGreaterThan(10);
  expect(second).toBeGreaterThan(first);
});

test("a new visitor also sees the first moment, flush and move, and slower merges", () => {
  const { held, lasted } = played(true);
  expect([...held.keys()]).toEqual([0, 1e6, 3e6, 4e6, 6e6]);
  expect(held.get(0)).toBeGreaterThan(20);
  expect(lasted).toBeGreaterThan(1.5 * played(false).lasted);
});
