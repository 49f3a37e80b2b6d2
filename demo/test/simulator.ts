/** The simulator's module, without a browser. */

import { readFileSync } from "node:fs";
import createGlue from "terrane-sim/glue.js";
import { configOf, type Settings } from "../src/source/settings.ts";
import { parseEvents } from "../src/source/event-log.ts";
import { Timeline } from "../src/timeline/timeline.ts";

const { initSync, Simulation } = createGlue();
const folder = new URL("../../target/sim-wasm/", import.meta.url);
initSync({ module: readFileSync(new URL("terrane_sim_bg.wasm", folder)) });

/** A level as the simulator has it. */
export interface RawLevel {
  runs: { id: number; tables: { id: number; bytes: number }[] }[];
}

/** A simulation that nobody has advanced. */
export function simulation(config: object, watched = false) {
  return new Simulation(JSON.stringify(config), watched);
}

/** Simulates a recording to its end: its timeline, and the tree that the simulator has then. */
export function simulate(settings: Settings): { timeline: Timeline; levels: RawLevel[] } {
  const simulation = new Simulation(JSON.stringify(configOf(settings)), true);
  const timeline = new Timeline();
  let more = true;
  while (more) {
    more = simulation.advance(10_000, Infinity);
    timeline.append(parseEvents(simulation.events()));
  }
  const levels = (JSON.parse(simulation.levels()) as { levels: RawLevel[] }).levels;
  simulation.free();
  return { timeline, levels };
}
