/** The choice of a policy: costs of simulations, the front, the pick and its reasons. */

import { expect, test } from "vitest";
import { reasonsText } from "../src/chapters/choice-words.ts";
import { GETS, SCANS } from "../src/chapters/about/choose.ts";
import { type Mix, mixConfig, mixCosts } from "../src/chapters/mixes.ts";
import { type Costs, costsOf, deviceMicros, front, pick } from "../src/chapters/models/choice.ts";
import type { Report } from "../src/source/reports.ts";
import { POLICIES, type Settings } from "../src/source/settings.ts";
import { simulation } from "./simulator.ts";

function report(policy: Settings["policy"], mix: Mix): Report {
  const simulated = simulation(mixConfig(policy, mix));
  while (simulated.advance(Infinity, Infinity));
  const found = JSON.parse(simulated.report()) as Report;
  simulated.free();
  return found;
}

const costs = (write: number, read: number, space: number, waited = 0): Costs => {
  return { write, read, space, compactionMicros: write, readMicros: read, waited };
};

test("gets make tiered compaction cheaper, and scans leveled", () => {
  const of = (policy: Settings["policy"], mix: Mix) => mixCosts(report(policy, mix));
  const [leveled, tiered] = [of("leveled", GETS), of("tiered", GETS)];
  expect(deviceMicros(tiered)).toBeLessThan(deviceMicros(leveled));
  // A third is written, and a get reads one block of either.
  expect(leveled.write / tiered.write).toBeGreaterThan(2.5);
  expect(Math.abs(leveled.read - tiered.read)).toBeLessThan(0.1);
  expect(deviceMicros(of("leveled", SCANS))).toBeLessThan(deviceMicros(of("tiered", SCANS)));
});

test("heavy writes and range scans have the order of costs that the short answer gives", () => {
  const mix: Mix = { update: 90, read: 0, scan: 10 };
  const all = new Map(POLICIES.map(({ name }) => [name, mixCosts(report(name as never, mix))]));
  const of = (name: string) => all.get(name) ?? costs(Number.NaN, Number.NaN, Number.NaN);
  const order = ["horizontal-leveling", "spooky", "lazy-leveled", "leveled", "tiered"];
  const micros = order.map((name) => deviceMicros(of(name)));
  expect(micros).toEqual(micros.toSorted((a, b) => a - b));
  expect(Math.min(...[...all.values()].map(deviceMicros))).toBe(micros[0]);
  expect(of("horizontal-leveling").space).toBeCloseTo(2.3, 1);
  expect(of("spooky").space).toBeCloseTo(1.3, 1);
  expect(of("leveled").write / of("tiered").write).toBeGreaterThan(2.5);
});

test("every policy takes the configuration of a mix", () => {
  for (const { name } of POLICIES) {
    simulation(mixConfig(name as Settings["policy"], GETS)).free();
  }
});

test("costs are those of the operations alone", () => {
  const found = report("leveled", GETS);
  const names = found.phases.map(({ name }) => name);
  expect(names).toEqual(["load", "wait-until-idle", "operations", "wait-until-idle"]);
  const device = { read: 1e6, write: 5e5, blockMicros: 10 };
  const { write, read, compactionMicros, readMicros } = costsOf(found, device);
  const [load, settled] = found.phases;
  if (load === undefined || settled === undefined) throw new Error();
  const after = (of: (figures: typeof load) => number) =>
    of({ ...found, name: "" }) - of(load) - of(settled);
  const written = after((f) => f.flushed_bytes + f.merge_written_bytes);
  const operations = after((f) => f.operations);
  expect(write).toBeCloseTo(written / after((f) => f.user_bytes), 9);
  const seconds = written / 5e5 + after((f) => f.merge_read_bytes) / 1e6;
  expect(compactionMicros).toBeCloseTo((seconds * 1e6) / operations, 6);
  expect(read).toBeCloseTo(found.read_ios_per_get, 9);
  expect(readMicros).toBeCloseTo((found.gets * found.read_ios_per_get * 10) / operations, 6);
});

test("the front has what nothing beats, by two digits", () => {
  const all = [
    costs(4, 1, 1.5),
    costs(2, 3, 1.5),
    costs(4, 1, 1.6),
    costs(2, 3, 1.5),
    costs(3.99, 1, 1.5),
  ];
  expect(front(all)).toEqual([true, true, false, true, true]);
});

test("a pick takes the least of the device within its limits", () => {
  const all = [costs(4, 2, 1.2), costs(3, 1, 3), costs(1, 1, 2, 0.5), costs(2, 4, 1.3)];
  expect(pick(all, 4)).toEqual({ picked: 1, tooLarge: undefined, tooSlow: 2 });
  expect(pick(all, 2)).toEqual({ picked: 0, tooLarge: 1, tooSlow: 2 });
  expect(pick(all, 1.2)).toEqual({ picked: 0, tooLarge: 1, tooSlow: undefined });
  expect(pick(all, 1.1).picked).toBeUndefined();
  const waiting = [costs(1, 9, 1, 0.5), costs(2, 8, 1, 0.2), costs(3, 7, 1, 0.3)];
  expect(pick(waiting, 2).picked).toBe(1);
});

test("a choice names its reasons, and those against cheaper policies", () => {
  const all = [
    { name: "chosen", costs: costs(4, 2, 1.2) },
    { name: "large", costs: costs(3, 1, 3) },
    { name: "slow", costs: costs(1, 1, 2, 0.5) },
  ];
  const said = reasonsText(
    all,
    pick(
      all.map(({ costs }) => costs),
      2,
    ),
  ).join(" ");
  expect(said).toContain("takes 6.0 µs of the device under it");
  expect(said).toContain("large would take 4.0 µs, and 3.00 times the space.");
  expect(said).toContain("slow would take 2.0 µs, and its writes wait 50 % of the time.");
});

test("a pick whose writes wait is not called the least within the limits", () => {
  const all = [
    { name: "waits", costs: costs(4, 2, 1.2, 0.2) },
    { name: "waits longer", costs: costs(3, 1, 1.2, 0.5) },
  ];
  const [said] = reasonsText(
    all,
    pick(
      all.map(({ costs }) => costs),
      2,
    ),
  );
  expect(said).toContain("writes wait 20 % of the time");
  expect(said).not.toContain("within these limits");
});
