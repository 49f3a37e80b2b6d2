/** Simulates configurations one after the other, and posts for how long writes waited in each. */

import { startSimulator } from "./simulator.ts";

/** Request of the page. */
export interface Question {
  module: WebAssembly.Module;
  /** As `terrane simulate --config` takes them. */
  configs: readonly string[];
}

/** For how long writes waited, in seconds: all together, and the longest. */
export interface Outcome {
  waited: number;
  longest: number;
}

/** Message of the worker: the outcome of a configuration, or the reason why it has none. */
export interface Told {
  at: number;
  outcome: Outcome | string;
}

/** Figures of a report that count here. */
interface Report {
  stall_seconds: { memtables: number; level0: number; compaction_bytes: number };
  latencies: Partial<Record<string, { max: number }>>;
}

/** Operations that write. */
const WRITES = ["insert", "update", "delete", "read-modify-write"];

const tell = (told: Told) => postMessage(told);

addEventListener("message", ({ data }: MessageEvent<Question>) => {
  const simulate = startSimulator(data.module);
  data.configs.forEach((config, at) => {
    try {
      const simulation = simulate(config, false);
      while (simulation.advance(Infinity, Infinity));
      const report = JSON.parse(simulation.report()) as Report;
      simulation.free();
      tell({ at, outcome: outcomeOf(report) });
    } catch (error) {
      tell({ at, outcome: error instanceof Error ? error.message : String(error) });
    }
  });
});

function outcomeOf({ stall_seconds: stalls, latencies }: Report): Outcome {
  return {
    waited: stalls.memtables + stalls.level0 + stalls.compaction_bytes,
    longest: Math.max(0, ...WRITES.map((kind) => latencies[kind]?.max ?? 0)),
  };
}
