/** The simulator, for workers. */

import createGlue from "terrane-sim/glue.js";

/** A simulation, as the module has it. */
export type Simulation = InstanceType<ReturnType<typeof createGlue>["Simulation"]>;

/** Starts the module that the page has compiled, and returns what makes simulations of it. */
export function startSimulator(
  module: WebAssembly.Module,
): (config: string, watched: boolean) => Simulation {
  const { initSync, Simulation } = createGlue();
  initSync({ module });
  return (config, watched) => new Simulation(config, watched);
}
