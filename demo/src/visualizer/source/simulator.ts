/** The simulator's module, for workers. */

import createGlue from "terrane-sim/glue.js";
import moduleUrl from "terrane-sim/terrane_sim_bg.wasm?url";

/** A simulation, as the module has it. */
export type Simulation = InstanceType<ReturnType<typeof createGlue>["Simulation"]>;

/** Loads the module, and returns what makes simulations of it. */
export async function loadSimulator(): Promise<(config: string, watched: boolean) => Simulation> {
  const { initSync, Simulation } = createGlue();
  initSync({ module: await WebAssembly.compileStreaming(fetch(moduleUrl)) });
  return (config, watched) => new Simulation(config, watched);
}
