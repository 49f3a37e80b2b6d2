/** The search for a moment in a recording that grows. */

import { expect, test, vi } from "vitest";
import { Lookout } from "../src/timeline/lookout.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import type { RecordedEvent } from "../src/timeline/events.ts";

const sealed = (micros: number): RecordedEvent => ({
  type: "memtable-sealed",
  micros,
  keyspace: 0,
  bytes: 1,
  through: micros,
});

const wait = (micros: number): RecordedEvent[] => [
  {
    type: "flushed",
    micros,
    keyspace: 0,
    run: 1,
    tables: [TABLE],
    reason: "",
    terms: [],
    through: 1,
  },
  { type: "stalled", micros, reason: "level0" },
  { type: "stall-ended", micros: micros + 10, reason: "level0", lastedMicros: 10 },
];

const TABLE = {
  id: 1,
  bytes: 10,
  entries: 1,
  tombstones: 0,
  smallest: new Uint8Array(),
  largest: new Uint8Array(),
  firstSeq: 1,
  lastSeq: 1,
  filterBits: 0,
  filterBytes: 0,
};

test("a search of a recording that grows costs a few times its length", () => {
  const timeline = new Timeline();
  const lookout = new Lookout("wait");
  const find = vi.spyOn(timeline, "find");
  for (let i = 0; i < 10_000; i++) {
    timeline.append([sealed(i)]);
    expect(lookout.look(timeline, true)).toBeUndefined();
  }
  const looked = find.mock.calls.length;
  expect(looked).toBeLessThan(100);
  for (let i = 0; i < 100; i++) lookout.look(timeline, false);
  expect(find.mock.calls.length).toBeLessThan(looked + 2);
});

test("a moment is found once enough follows it, and at the latest at the end", () => {
  const timeline = new Timeline();
  timeline.append(Array.from({ length: 100 }, (_, i) => sealed(i)));
  const lookout = new Lookout("wait");
  expect(lookout.look(timeline, true)).toBeUndefined();
  timeline.append(wait(200));
  expect(lookout.look(timeline, true)).toBeUndefined();
  expect(lookout.look(timeline, false)).toMatchObject({ at: 200, to: 210 });
  const other = new Lookout("wait");
  expect(other.look(timeline, true)?.at).toBe(200);
});
