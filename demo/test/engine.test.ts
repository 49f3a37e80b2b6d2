/** The engine's own events, from a store in memory: they add up to the tree that it has. */

import { readFileSync } from "node:fs";
import type { EngineEvent } from "terrane";
import { open } from "terrane/worker";
import { expect, test } from "vitest";
import { operationsOf } from "../src/source/operations.ts";
import { DEFAULTS, liveOptions, type Settings, WORKLOADS } from "../src/source/settings.ts";
import { Timeline } from "../src/timeline/timeline.ts";

const file = new URL("../../bindings-js/dist/terrane_all_bg.wasm", import.meta.url);
const wasm = new WebAssembly.Module(readFileSync(file));
const LIVE: Settings = { ...DEFAULTS, device: "memory", load: 6000, operations: 14_000 };

/** Runs a run on a store in memory, to its end. */
async function run(settings: Settings) {
  const db = await open("test", { ...liveOptions(settings), wasm });
  const timeline = new Timeline();
  const heard = (async () => {
    for await (const event of db.events()) timeline.append([event as EngineEvent]);
  })();
  let number = 0;
  for (const operation of operationsOf(settings)) {
    if (operation.type === "put") db.put(operation.key, operation.value);
    else if (operation.type === "delete") db.delete(operation.key);
    // Events are delivered between turns.
    if ((number += 1) % 200 === 0) await new Promise((turn) => setTimeout(turn));
  }
  db.flush();
  const quiet = () => timeline.end.compactions.length === 0 && timeline.end.sealed.length === 0;
  do await new Promise((turn) => setTimeout(turn, 20));
  while (!quiet());
  const levels = db.levels();
  db.close();
  await heard;
  return { timeline, levels };
}

test.each(["leveled", "spooky", "tiered", "vertiorizon", "bucket"] as const)(
  "%s: the events add up to the store's tree",
  async (policy) => {
    const { timeline, levels } = await run({ ...LIVE, policy });
    const ids = ({
      levels,
    }: {
      levels: readonly { runs: readonly { id: number; tables: readonly { id: number }[] }[] }[];
    }) =>
      levels.map(({ runs }) => runs.map(({ id, tables }) => [id, tables.map((table) => table.id)]));
    expect(timeline.history.decisions.length).toBeGreaterThan(2);
    expect(ids(timeline.end)).toEqual(ids({ levels }));
  },
);

test("operations are the same for the same seed, and of the kinds that a workload names", () => {
  for (const workload of Object.keys(WORKLOADS) as Settings["workload"][]) {
    const settings = { ...LIVE, workload, load: 100, operations: 200, valueBytes: 16 };
    const operations = [...operationsOf(settings)];
    expect(operations).toEqual([...operationsOf(settings)]);
    expect(operations).toHaveLength(300);
    const loaded = new Set(operations.slice(0, 100).map(({ key }) => key));
    expect(loaded.size).toBe(100);
    const kinds = new Set(operations.slice(100).map(({ type }) => type));
    expect(kinds.has("delete")).toBe(workload === "deletes");
    expect(kinds.has("get")).toBe(workload === "mixed");
    const fresh = operations.slice(100).filter(({ key }) => !loaded.has(key));
    const inserted = new Set(fresh.map(({ key }) => key)).size;
    if (workload === "growing") {
      // About a quarter; updates choose among what was inserted as well.
      expect(inserted).toBeGreaterThan(20);
      expect(inserted).toBeLessThan(100);
    } else expect(inserted).toBe(workload === "ascending" ? 200 : 0);
  }
});
