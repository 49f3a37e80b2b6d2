/** Checks of events from files and other processes, which may lack what their types declare. */

import type { RecordedEvent } from "../timeline/events.ts";
import { EVENTS, type Kind, MAX_LEVELS, RUN, STATUS, type Shape } from "./contract.ts";

/** Levels, of which a tree has a bounded number. */
const LEVELS = { list: { fields: { runs: { list: RUN } } }, atMost: MAX_LEVELS } as const;

/** A simulation, as far as the page names it. */
const SIMULATED: Shape = {
  fields: {
    seed: "number",
    workers: "number",
    bufferBytes: "number",
    valueBytes: "number",
    device: { fields: { readSpeed: "number", writeSpeed: "number" } },
    workload: {
      fields: {
        load: "number",
        phases: {
          list: {
            fields: {
              operations: "number",
              clients: {
                list: {
                  fields: { mix: "object", choice: { fields: { by: "text" } }, rate: "number" },
                },
              },
            },
          },
        },
      },
    },
  },
};

/** The events of this page, beside the engine's. */
const PAGE_EVENTS: Record<string, Record<string, Shape>> = {
  header: { release: "text", keyspace: "text" },
  waits: { waits: "object" },
  detached: {},
  shape: { levels: LEVELS, ...STATUS },
  "power-failed": {
    unsyncedBytes: "number",
    discardedBytes: "number",
    lostWrites: "number",
    through: "number",
    levels: LEVELS,
    sealed: "number",
    ...STATUS,
  },
};

const WAITS: Shape = { fields: { count: "number", micros: "number", microsMax: "number" } };

/** Fields that an event may lack, as it does in older traces. */
const OPTIONAL: Record<string, Record<string, Shape>> = {
  shape: { release: "text", name: "text", waits: "object", policy: "policy" },
  header: { policy: "policy", engine: "text", simulation: { either: [{ is: null }, SIMULATED] } },
};

const FIELDS: Record<string, Record<string, Shape>> = { ...EVENTS, ...PAGE_EVENTS };

/** Whether a value has a type and a time, as events of this and later releases do. */
export function isEvent(value: unknown): value is RecordedEvent {
  return isObject(value) && wrong(value, { type: "text", micros: "number" }) === undefined;
}

/** Returns the name of a field that an event lacks, or that is not as its type declares it. */
export function wrongField(event: RecordedEvent): string | undefined {
  // Types of later releases are not known here, and change nothing.
  const shapes = Object.hasOwn(FIELDS, event.type) ? FIELDS[event.type] : undefined;
  const optional = Object.entries(OPTIONAL[event.type] ?? {}).filter(([name]) => name in event);
  const field = shapes && wrong(event, { ...shapes, ...Object.fromEntries(optional) });
  if (field !== undefined || !("waits" in event)) return field;
  return Object.values(event.waits ?? {}).every((one) => has(one, WAITS)) ? undefined : "waits";
}

function wrong(value: object, shapes: Record<string, Shape>): string | undefined {
  const found = Object.entries(shapes).find(
    ([name, shape]) => !has((value as Record<string, unknown>)[name], shape),
  );
  return found?.[0];
}

/** Whether a value has a shape. */
function has(value: unknown, shape: Shape): boolean {
  if (typeof shape === "string") return isOf(value, shape);
  if ("is" in shape) return value === shape.is;
  if ("either" in shape) return shape.either.some((one) => has(value, one));
  if ("fields" in shape) return isObject(value) && wrong(value, shape.fields) === undefined;
  const { list, atMost = Infinity } = shape;
  return Array.isArray(value) && value.length <= atMost && value.every((one) => has(one, list));
}

function isOf(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case "number":
      // Sums of numbers that are larger are not exact, and of the largest not finite.
      return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
    case "level":
      return Number.isInteger(value) && isOf(value, "number") && (value as number) < MAX_LEVELS;
    case "text":
      return typeof value === "string";
    case "flag":
      return typeof value === "boolean";
    case "bytes":
      return value instanceof Uint8Array;
    case "object":
      return isObject(value);
    case "keyspace":
      return isOf(value, "number") || isOf(value, "text");
    case "policy":
      return (
        isObject(value) &&
        wrong(value, { policy: "text" }) === undefined &&
        Object.values(value).every((one) => !isObject(one))
      );
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
