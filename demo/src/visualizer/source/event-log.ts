/** What the simulator writes, as the package has it. */

import type { Step } from "terrane";
import type { RecordedEvent } from "../timeline/events.ts";
// Their JSON is the engine's, and so is what reads it.
import { fromJson } from "../../../../bindings-js/src/codec/json.ts";

/** Parses a JSON array of events. */
export function parseEvents(json: string): RecordedEvent[] {
  return fromJson(json);
}

/** Parses the steps of a read. */
export function parseReadPath(json: string): { key: Uint8Array; steps: Step[] } {
  return fromJson(json);
}

/** An event from a line of a trace, of the command line or of this page; nothing if it is none. */
export function readEvent(line: string): RecordedEvent | undefined {
  try {
    const event = fromJson<Partial<RecordedEvent> | null>(line);
    const known = typeof event?.type === "string" && Number.isFinite(event.micros);
    return known ? (event as RecordedEvent) : undefined;
  } catch {
    return undefined;
  }
}

/** A trace of events: a line of JSON for each. */
export function writeEvents(events: readonly RecordedEvent[]): string {
  const plain = (_: string, value: unknown) => (value instanceof Uint8Array ? [...value] : value);
  return events.map((event) => `${JSON.stringify(event, plain)}\n`).join("");
}
