/**
 * Reads single keys of a simulation at any moment: the same configuration is simulated again up to there,
 * and no further than that for a later moment.
 */

import type { Step } from "terrane";
import { type Simulation, startSimulator } from "./simulator.ts";
import { parseReadPath } from "./event-log.ts";
import type { Wanted } from "./read-path.ts";
import { type Failed, replyInTurn } from "./replies.ts";

/** Request of the page. */
export interface Question {
  module: WebAssembly.Module;
  config: string;
  micros: number;
  wanted: Wanted;
}

/** Reply to the page. */
export type Reply = { type: "read"; key: Uint8Array; steps: Step[] } | Failed;

/** Keys that are tried until a filter is wrong about one. */
const TRIES = 20_000;

let simulate: ReturnType<typeof startSimulator> | undefined;
let current: { config: string; micros: number; simulation: Simulation } | undefined;

replyInTurn(read);

async function read({ module, config, micros, wanted }: Question): Promise<Reply> {
  simulate ??= startSimulator(module);
  if (current === undefined || current.config !== config || current.micros > micros) {
    current?.simulation.free();
    current = { config, micros: 0, simulation: simulate(config, false) };
  }
  const { simulation } = current;
  // Up to the end of that microsecond: events have whole ones.
  simulation.advance(Infinity, (micros + 0.999) / 1e6);
  current.micros = micros;
  const path = (key: Uint8Array, near: boolean) => parseReadPath(simulation.explain(key, near));
  if (wanted.by === "key") return { type: "read", ...path(wanted.key, wanted.next) };
  for (let i = 0; i < TRIES; i++) {
    const found = path(crypto.getRandomValues(new Uint8Array(8)), false);
    const wrong = found.steps.some((step) => step.step === "absent" && step.falsePositive);
    if (wrong) return { type: "read", ...found };
  }
  throw new Error(`No filter was wrong about any of ${TRIES} keys.`);
}
