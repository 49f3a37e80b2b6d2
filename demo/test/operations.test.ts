/** Sampled gets and writes, as events report them. */

import { expect, test } from "vitest";
import { COLUMNS, heatOf } from "../src/layout/heat.ts";
import type { KeyAxis } from "../src/layout/key-axis.ts";
import { latencyChart } from "../src/layout/latencies.ts";
import { debtOf } from "../src/timeline/debt.ts";
import type { RecordedEvent } from "../src/timeline/events.ts";
import { hotHalf, latestOf, type OperationsEvent, rateOf } from "../src/timeline/operations.ts";
import { EMPTY, type State } from "../src/timeline/state.ts";
import { Timeline } from "../src/timeline/timeline.ts";
import { debtText } from "../src/views/stall-words.ts";

const key = (number: number) => Uint8Array.of(number);
const NONE = { count: 0, p50Micros: 0, p99Micros: 0, maxMicros: 0, quantiles: [] };

/** An interval of a second that ends then, with gets on these keys. */
function interval(second: number, keys: readonly number[], gets = {}): OperationsEvent {
  return {
    type: "operations",
    micros: second * 1e6,
    keyspace: "default",
    lastedMicros: 1e6,
    gets: { ...NONE, count: 1600, quantiles: keys.map(key), ...gets },
    writes: NONE,
    levels: [],
  };
}

/** Keys that are bytes, evenly. */
const AXIS = { position: (of: Uint8Array) => (of[0] ?? 0) / 256 } as KeyAxis;

test("a state has the intervals up to its moment, and forgets the oldest", () => {
  const timeline = new Timeline();
  timeline.append(Array.from({ length: 100 }, (_, i) => interval(i + 1, [i])));
  expect(timeline.at(3.5e6).operations.map(({ micros }) => micros)).toEqual([1e6, 2e6, 3e6]);
  expect(timeline.end.operations).toHaveLength(60);
  expect(timeline.end.operations[0]?.micros).toBe(41e6);
  expect(timeline.history.samples).toHaveLength(0);
  const { operations } = timeline.end;
  expect(latestOf(operations, 101e6).map(({ micros }) => micros / 1e6)).toEqual([
    93, 94, 95, 96, 97, 98, 99, 100,
  ]);
  expect(latestOf(operations, 120e6)).toEqual([]);
  expect(rateOf(interval(1, []), "gets")).toBe(1600);
});

test("steps pass samples of operations, which change no tree", () => {
  const timeline = new Timeline();
  const sealed = (micros: number) => ({ type: "memtable-sealed", micros, bytes: 1 });
  const events = [sealed(5), interval(1, []), sealed(2e6)];
  timeline.append(events as unknown as RecordedEvent[]);
  expect(timeline.neighbour(5, 1)).toBe(2e6);
  expect(timeline.neighbour(2e6, -1)).toBe(5);
});

test("columns are as hot as operations are dense there", () => {
  // Three of four quarters lie in the second half of the keys.
  const heat = heatOf([interval(1, [0, 128, 160, 192, 224])], "gets", AXIS, 8);
  expect(heat.map((one) => Number(one.toFixed(2)))).toEqual([0.25, 0.25, 0.25, 0.25, 1, 1, 1, 0]);
  // All operations on one key are one column.
  const one = heatOf([interval(1, [64, 64, 64])], "gets", AXIS, 4);
  expect(one).toEqual([0, 1, 0, 0]);
  expect(heatOf([interval(1, [7])], "gets", AXIS, 4)).toEqual([1, 0, 0, 0]);
  expect(heatOf([], "gets", AXIS)).toEqual(new Array(COLUMNS).fill(0));
  // Of a picture that shows a part, what lies beside it is left out.
  const zoomed = { position: (of: Uint8Array) => (of[0] ?? 0) / 64 - 1 } as KeyAxis;
  expect(heatOf([interval(1, [0, 32, 64, 128, 192])], "gets", zoomed, 2)).toEqual([1, 1]);
});

test("half of the operations are in the narrowest range that has them", () => {
  const spread = [0, 30, 60, 90, 100, 101, 102, 103, 104, 200];
  expect(hotHalf(interval(1, spread).gets)).toEqual([key(100), key(104)]);
  expect(hotHalf(interval(1, [1, 2, 3]).gets)).toBeUndefined();
});

test("latencies are steps, and a pause leaves a gap", () => {
  const slow = { p50Micros: 10, p99Micros: 100, maxMicros: 1000 };
  const all = [interval(1, [], slow), interval(2, [], slow), interval(4, [], slow)];
  const { paths, ticks } = latencyChart(all, "gets", 4e6, [40, 20]);
  expect(ticks).toEqual([
    { micros: 10, y: 20 },
    { micros: 100, y: 10 },
    { micros: 1000, y: 0 },
  ]);
  expect(paths.p50Micros).toBe("M0.0 20.0H10.0V20.0H20.0M30.0 20.0H40.0");
  expect(paths.maxMicros).toBe("M0.0 0.0H10.0V0.0H20.0M30.0 0.0H40.0");
  expect(latencyChart(all, "writes", 4e6, [40, 20]).paths.p50Micros).toBe("");
  // An hour that ends with an operation is as wide as five seconds.
  const late = { ...interval(3700, [], slow), lastedMicros: 3600e6 };
  const paused = latencyChart([...all, late], "gets", 3700e6, [40, 20]);
  expect(paused.paths.p50Micros).toBe("M0.0 20.0H40.0");
});

test("debt is what levels hold above their capacity, with what lies below", () => {
  const level = (bytes: number) => ({ runs: bytes === 0 ? [] : [{ id: 1, tables: [{ bytes }] }] });
  const state = (sizes: readonly number[], limits: readonly (number | null)[]) =>
    ({
      ...EMPTY,
      levels: sizes.map(level),
      capacities: limits.map((bytes) => ({ bytes, runs: null })),
    }) as unknown as State;
  expect(debtOf(state([10, 10], [null, null]))).toBeUndefined();
  expect(debtOf(state([10, 10], [10, 5]))).toBe(0);
  // 10 of 20 go down, with half of the 40 below; then 10 of 50, with a fifth of 100.
  expect(debtOf(state([20, 40, 100], [10, 40, 50]))).toBe(10 * 3 + 10 * 3);
});

test("debt has the time that it takes at the present pace", () => {
  expect(debtText(0, 5, undefined)).toContain("No compaction debt");
  const owed = debtText(2 << 20, 1 << 20, { read: 1 << 21, write: 1 << 20 });
  expect(owed).toContain("2 MiB");
  expect(owed).toContain("takes 4.00 s");
  expect(owed).toContain("need 3.00 s");
  expect(debtText(1, 0, undefined)).toContain("None was at work");
});
