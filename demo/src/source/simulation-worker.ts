/** Runs one simulation in a worker, and posts its events as they come. */

import { startSimulator } from "./simulator.ts";
import { messageOf } from "../message.ts";

/** Request of the page: one simulation. */
export interface Start {
  module: WebAssembly.Module;
  /** As `terrane simulate --config` takes it. */
  config: string;
  /** Another policy from a moment on. */
  then: { micros: number; policy: string } | undefined;
}

/** Message of the worker. */
export type Told =
  | { type: "progress"; events: string; operations: number; length: number; seconds: number }
  | { type: "ended"; report: string }
  | { type: "failed"; error: string };

/** Operations between two messages. */
const SLICE = 20_000;

const tell = (told: Told) => postMessage(told);

addEventListener("message", ({ data }: MessageEvent<Start>) => {
  try {
    run(data);
  } catch (error) {
    tell({ type: "failed", error: messageOf(error) });
  }
});

function run({ module, config, then }: Start): void {
  const simulation = startSimulator(module)(config, true);
  const length = simulation.length();
  let more = true;
  let before = 0;
  while (more) {
    // Up to the end of that microsecond: events have whole ones.
    more = simulation.advance(SLICE, then === undefined ? Infinity : (then.micros + 0.999) / 1e6);
    const operations = simulation.operations();
    if (then !== undefined && more && operations - before < SLICE) {
      simulation.setPolicy(then.policy);
      then = undefined;
    }
    before = operations;
    const events = simulation.events();
    tell({ type: "progress", events, operations, length, seconds: simulation.seconds() });
  }
  tell({ type: "ended", report: simulation.report() });
}
