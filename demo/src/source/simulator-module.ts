/** The simulator's module, compiled once for all workers of the page. */

import moduleUrl from "terrane-sim/terrane_sim_bg.wasm?url";

let compiled: Promise<WebAssembly.Module> | undefined;

/** The module; what could not be loaded is tried again the next time. */
export function simulatorModule(): Promise<WebAssembly.Module> {
  compiled ??= WebAssembly.compileStreaming(fetch(moduleUrl)).catch((error: unknown) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}
