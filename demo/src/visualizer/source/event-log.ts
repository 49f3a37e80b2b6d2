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

/** An event from a line of a trace, of the command line or of this page; nothing if it is none. */
export function readEvent(line: string): EngineEvent | undefined {
  try {
    const event = fromJson<Partial<EngineEvent> | null>(line);
    const known = typeof event?.type === "string" && typeof event.micros === "number";
    return known ? (event as EngineEvent) : undefined;
  } catch {
    return undefined;
  }
}

/** A trace of events: a line of JSON for each. */
export function writeEvents(events: readonly EngineEvent[]): string {
  const plain = (_: string, value: unknown) => (value instanceof Uint8Array ? [...value] : value);
  return events.map((event) => `${JSON.stringify(event, plain)}\n`).join("");
}
