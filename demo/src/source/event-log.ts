/** Output of the simulator, as the package has it. */

import type { Step } from "terrane";
import type { RecordedEvent } from "../timeline/events.ts";
// Their JSON is the engine's, and so is what reads it.
import { fromJson } from "../../../bindings-js/src/codec/json.ts";
import { isEvent, wrongField } from "./event-shape.ts";

/** Parses a JSON array of events. */
export function parseEvents(json: string): RecordedEvent[] {
  return fromJson(json);
}

/** Parses the steps of a read. */
export function parseReadPath(json: string): { key: Uint8Array; steps: Step[] } {
  return fromJson(json);
}

/** Parses the steps of a read that a server performed. */
export function parseSteps(json: string): readonly Step[] {
  return fromJson<{ steps: Step[] }>(json).steps;
}

/** Whether a line looks like one of a trace, even if its event has the wrong shape. */
export function isTraceLine(line: string): boolean {
  try {
    return isEvent(fromJson(line));
  } catch {
    return false;
  }
}

/** Reads an event from a line of a trace, of the command line or of this page; throws if it is not an event. */
export function readEvent(line: string): RecordedEvent {
  let event: unknown;
  try {
    event = fromJson(line);
  } catch {
    throw new Error("it is not JSON, or is cut short");
  }
  if (!isEvent(event)) throw new Error("it has no `type`, or no `micros`");
  const field = wrongField(event);
  if (field !== undefined) throw new Error(`${event.type} has no valid \`${field}\``);
  return event;
}

/** Fields whose own fields are options, which have names in kebab case; all others are in snake case. */
const OPTIONS: ReadonlySet<string> = new Set(["policy", "observed", "simulation"]);

/** A trace of events: a line of JSON for each, with the names that the command line gives to fields. */
export function writeEvents(events: readonly RecordedEvent[]): string {
  return events.map((event) => `${JSON.stringify(spelled(event, "_"))}\n`).join("");
}

/** Options with the names that `terrane simulate --config` gives them. */
export function inKebab(options: object): object {
  return spelled(options, "-") as object;
}

/** A value whose names are those of the command line. */
function spelled(value: unknown, joint: "_" | "-"): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map((one) => spelled(one, joint));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => {
    const own = name.replace(/[A-Z]/g, (letter) => `${joint}${letter.toLowerCase()}`);
    return [own, spelled(field, OPTIONS.has(name) ? "-" : joint)];
  });
  return Object.fromEntries(entries) as unknown;
}
