/**
 * The module against the command: one configuration gives the same bytes in both, however it is sliced.
 * MODULE is the folder of the module, TERRANE the command.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const { MODULE, TERRANE } = process.env;
const { default: createGlue } = await import(pathToFileURL(join(MODULE, "glue.js")).href);
const { initSync, Simulation } = createGlue();
initSync({ module: readFileSync(join(MODULE, "terrane_sim_bg.wasm")) });

const sizes = { "buffer-bytes": 65_536, "key-bytes": 16, "value-bytes": 112 };
const policies = JSON.parse(execFileSync(TERRANE, ["policies", "--json"], { encoding: "utf8" }));
const leveled = policies.find(({ name }) => name === "leveled");
const mix = { update: 0.6, delete: 0.1, read: 0.2, "read-missing": 0.05, scan: 0.05 };
const zipf = { by: "zipf", exponent: 0.99, "move-every": 5000 };
const flash = { "capacity-bytes": 16_000_000, "page-bytes": 4096, "unit-pages": 64 };

function config({ name, parameters }, choice) {
  const small = { "level-base-bytes": 61_440, "split-bytes": 16_384 };
  const known = ([name]) => parameters.some((parameter) => parameter.name === name);
  const base = Object.fromEntries(Object.entries(small).filter(known));
  const clients = [{ count: 3, mix, choice }];
  const phase = { "wait-until-idle": true, operations: 20_000, clients };
  const workload = { load: 20_000, phases: [phase] };
  const options = { policy: name, ...base, "target-file-bytes": 32_768 };
  const machine = { cores: 4, subcompactions: 4, "subcompaction-bytes": 65_536 };
  const given = { ...sizes, ...machine, policy: options, workload, flash, seed: 7, timeline: true };
  return JSON.stringify(given);
}

/** The report and the events of the command. */
function native(text) {
  const folder = mkdtempSync(join(tmpdir(), "terrane-sim-"));
  try {
    const [file, trace] = [join(folder, "config.json"), join(folder, "trace")];
    writeFileSync(file, text);
    const report = execFileSync(
      TERRANE,
      ["simulate", "--config", file, "--trace", trace, "--json"],
      { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
    );
    const events = readFileSync(trace, "utf8").trimEnd().split("\n");
    return { report: report.trimEnd(), events };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const policy of policies) {
  for (const choice of [{ by: "uniform" }, zipf]) {
    test(`${policy.name}, ${choice.by}: the module matches the command byte for byte`, () => {
      const text = config(policy, choice);
      const { report, events } = native(text);
      const simulation = new Simulation(text, true);
      const seen = [];
      while (simulation.advance(1234, Infinity)) seen.push(simulation.events().slice(1, -1));
      seen.push(simulation.events().slice(1, -1));
      assert.equal(simulation.report(), report);
      assert.equal(seen.filter((slice) => slice).join(","), events.join(","));
      assert.equal(simulation.operations(), simulation.length());
    });
  }
}

test("slices of virtual time end in time, and change nothing", () => {
  const text = config(leveled, { by: "uniform" });
  const whole = new Simulation(text, false);
  while (whole.advance(Infinity, Infinity));
  const end = whole.seconds();
  const sliced = new Simulation(text, true);
  for (let slice = 1; sliced.advance(Infinity, (slice * end) / 100); slice++) {
    const events = JSON.parse(sliced.events());
    assert.ok(events.every(({ micros }) => micros <= (slice * end * 1e6) / 100));
  }
  assert.equal(sliced.report(), whole.report());
  assert.equal(sliced.levels(), whole.levels());
});

test("levels hold runs of tables with their key ranges and sizes", () => {
  const simulation = new Simulation(config(leveled, { by: "uniform" }), false);
  while (simulation.advance(Infinity, Infinity));
  const { levels } = JSON.parse(simulation.levels());
  const tables = levels.flatMap(({ runs }) => runs.flatMap((run) => run.tables));
  const report = JSON.parse(simulation.report());
  const bytes = (sum, { bytes }) => sum + bytes;
  assert.equal(tables.reduce(bytes, 0), report.levels.reduce(bytes, 0));
  assert.ok(tables.every(({ smallest, largest }) => smallest.length === 8 && largest.length === 8));
  assert.equal(simulation.events(), "[]");
});

test("what cannot be simulated is an error that says why", () => {
  assert.throws(() => new Simulation("{", false), /EOF/);
  assert.throws(() => new Simulation('{"workers": 0}', false), /workers is 0, expected 1 to/);
  assert.throws(() => new Simulation('{"policy": {"policy": "none"}}', false), /none/);
});
