/** What the simulator writes, as the package has it. */

import type { EngineEvent, Step } from "terrane";
// Their JSON is the engine's, and so is what reads it.
import { fromJson } from "../../../../bindings-js/src/codec/json.ts";

/** Parses a JSON array of events. */
export function parseEvents(json: string): EngineEvent[] {
  return fromJson(json);
}

/** Parses the steps of a read. */
export function parseReadPath(json: string): { key: Uint8Array; steps: Step[] } {
  return fromJson(json);
}
