/** Simulates configurations one after the other, and posts the report of each. */

import type { Report } from "./reports.ts";
import { startSimulator } from "./simulator.ts";
import { messageOf } from "../message.ts";

/** Request of the page. */
export interface Question {
  module: WebAssembly.Module;
  /** As `terrane simulate --config` takes them. */
  configs: readonly string[];
}

/** Message of the worker: the report of a configuration, or the reason why it has none. */
export interface Told {
  at: number;
  report: Report | string;
}

const tell = (told: Told) => postMessage(told);

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  const simulate = startSimulator(data.module);
  data.configs.forEach((config, at) => {
    try {
      const simulation = simulate(config, false);
      while (simulation.advance(Infinity, Infinity));
      const report = JSON.parse(simulation.report()) as Report;
      simulation.free();
      tell({ at, report });
    } catch (error) {
      tell({ at, report: messageOf(error) });
    }
  });
});
