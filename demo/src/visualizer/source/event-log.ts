/** The events that the simulator writes, as the package has them. */

import type { EngineEvent } from "terrane";
// Their JSON is the engine's, and so is what reads it.
import { fromJson } from "../../../../bindings-js/src/codec/json.ts";

/** Parses a JSON array of events. */
export function parseEvents(json: string): EngineEvent[] {
  return fromJson(json);
}
