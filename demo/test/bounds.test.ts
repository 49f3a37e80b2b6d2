/** Bounds: what is refused before it starts, in words, and that the rest is not. */

import { expect, test } from "vitest";
import {
  BYTES_MAX,
  estimate,
  EVENTS_MAX,
  TABLES_MAX,
  tooLarge,
  tooMuch,
} from "../src/source/bounds.ts";
import { SimulatedRecording } from "../src/source/simulation.ts";
import { CALM, DEFAULTS, POLICIES, RANGES, type Settings } from "../src/source/settings.ts";
import { treeTables } from "../src/timeline/state.ts";
import { simulate } from "./simulator.ts";

const with_ = (changes: Partial<Settings>): Settings => ({ ...DEFAULTS, ...changes });
const names = POLICIES.map(({ name }) => name as Settings["policy"]);

test.each(names)("%s with usual parameters is simulated", (policy) => {
  expect(tooLarge(with_({ policy }))).toBeUndefined();
  expect(tooLarge({ ...CALM, policy })).toBeUndefined();
});

test.each(names)("%s with tables of 1 KiB is refused with its number of tables", (policy) => {
  const parameters = { targetFileBytes: 1024 };
  const problem = tooLarge(with_({ policy, parameters, valueBytes: 112, load: 5_000_000 }));
  // 5,000,000 entries of 128 bytes, 8 of them in a table.
  expect(problem).toBe(
    "This would be 630,000 tables; a page draws at most 20,000. " +
      "Choose larger tables than 1 KiB, or fewer keys.",
  );
});

test("inserts count among the tables of a tree, and updates do not", () => {
  const parameters = { targetFileBytes: 1 << 16 };
  const settings = with_({ parameters, valueBytes: 1024, load: 100_000, operations: 2_000_000 });
  const inserts = estimate({ ...settings, workload: "ascending" });
  const updates = estimate({ ...settings, workload: "uniform" });
  expect(inserts.tables).toBe(Math.ceil((2_100_000 * 1040) / (1 << 16)));
  expect(updates.tables).toBe(Math.ceil((100_000 * 1040) / (1 << 16)));
  expect(updates.made).toBe(inserts.made);
});

test("updates that rewrite small tables too often are refused", () => {
  const parameters = { targetFileBytes: 1 << 15 };
  const settings = with_({ parameters, load: 400_000, operations: 5_000_000 });
  expect(tooLarge({ ...settings, operations: 10_000 })).toBeUndefined();
  expect(tooLarge(settings)).toMatch(
    /^This would make some 1.4 million tables; a page holds 500,000/,
  );
});

test("a recording that writes too many bytes is refused", () => {
  const { valueBytes, load } = RANGES;
  const problem = tooLarge(with_({ valueBytes: valueBytes.most, load: load.most }));
  expect(problem).toContain("A simulated recording writes at most 8 GiB of values");
  const live = with_({ device: "memory", load: 2_000_000, operations: 0 });
  expect(live.load * live.valueBytes).toBeGreaterThan(BYTES_MAX.live);
  expect(tooLarge(live)).toContain("A recording on the engine writes at most 1 GiB");
});

test("the estimate of a tree's tables is near what is simulated", () => {
  const parameters = { targetFileBytes: 1 << 16 };
  const settings = with_({ policy: "leveled", parameters, load: 60_000, operations: 0 });
  const { timeline } = simulate(settings);
  const { tables } = estimate(settings);
  expect(treeTables(timeline.end)).toBeGreaterThan(tables * 0.8);
  expect(treeTables(timeline.end)).toBeLessThan(tables * 1.5);
});

test("a recording is refused without a worker", async () => {
  const settings = with_({ parameters: { targetFileBytes: 1024 } });
  const recording = new SimulatedRecording(settings, () => undefined, {});
  await recording.ended;
  expect(recording.status).toMatchObject({ at: "failed" });
  expect(recording.timeline.length).toBe(0);
});

test("a recording ends where its events are more than a page holds", () => {
  const { timeline } = simulate(with_({ load: 20_000, operations: 0 }));
  expect(tooMuch(timeline.end, EVENTS_MAX)).toBeUndefined();
  expect(tooMuch(timeline.end, EVENTS_MAX + 1)).toContain("its events take more than 512 MiB");
  const [level] = timeline.end.levels.filter(({ runs }) => runs.length > 0);
  const [table] = level?.runs[0]?.tables ?? [];
  if (table === undefined) throw new Error();
  const tables = Array<typeof table>(TABLES_MAX + 1).fill(table);
  const state = { ...timeline.end, levels: [{ runs: [{ id: 1, tables }] }] };
  expect(tooMuch(state, 0)).toBe("its tree has 20,001 tables; a page draws at most 20,000");
});
