/** The events that the simulator writes, as the package has them. */

import type { EngineEvent } from "terrane";

/** Fields that hold keys, as lists of bytes. */
const KEYS: ReadonlySet<string> = new Set(["smallest", "largest", "key"]);

/** Parses a JSON array of events. */
export function parseEvents(json: string): EngineEvent[] {
  return (JSON.parse(json) as unknown[]).map((event) => revive(event) as EngineEvent);
}

function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(revive);
  const entries = Object.entries(value).map(([name, field]): [string, unknown] => {
    if (KEYS.has(name)) return [name, Uint8Array.from(field as number[])];
    if (name === "cuts") return [name, (field as number[][]).map((key) => Uint8Array.from(key))];
    return [
      name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      revive(field),
    ];
  });
  return Object.fromEntries(entries);
}
