/** Runs one simulation in a worker, and posts its events as they come. */

import { loadSimulator } from "./simulator.ts";

/** What the page asks for: one simulation. */
export interface Start {
  /** As `terrane simulate --config` takes it. */
  config: string;
}

/** What the worker tells. */
export type Told =
  | { type: "progress"; events: string; operations: number; length: number; seconds: number }
  | { type: "ended"; report: string }
  | { type: "failed"; error: string };

/** Operations between two messages. */
const SLICE = 20_000;

const tell = (told: Told) => postMessage(told);

addEventListener("message", ({ data }: MessageEvent<Start>) => {
  run(data.config).catch((error: unknown) => {
    tell({ type: "failed", error: error instanceof Error ? error.message : String(error) });
  });
});

async function run(config: string): Promise<void> {
  const simulate = await loadSimulator();
  const simulation = simulate(config, true);
  const length = simulation.length();
  let more = true;
  while (more) {
    more = simulation.advance(SLICE, Infinity);
    const [events, operations] = [simulation.events(), simulation.operations()];
    tell({ type: "progress", events, operations, length, seconds: simulation.seconds() });
  }
  tell({ type: "ended", report: simulation.report() });
}
