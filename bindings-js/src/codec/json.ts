/**
 * The engine's JSON. Its names are in snake case, or in kebab case where they are options (requests.ts writes these);
 * those of this package are in camel case. The types of fields in Rust decide which are bytes.
 */

import { BYTES, LISTS_OF_BYTES } from "./byte-fields.ts";

/** Parses a value; its names become camel case. */
export function fromJson<T>(json: string): T {
  return revived(JSON.parse(json)) as T;
}

/** A parsed value, renamed. One pass is several times as fast as a function that `JSON.parse` calls. */
function revived(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(revived);
  const fields = value as Record<string, unknown>;
  const named: Record<string, unknown> = {};
  for (const name in fields) {
    const field = fields[name];
    named[toCamelCase(name)] = Array.isArray(field) ? list(name, field) : revived(field);
  }
  return named;
}

function list(name: string, values: unknown[]): unknown {
  if (BYTES.has(name)) return Uint8Array.from(values as number[]);
  if (LISTS_OF_BYTES.has(name)) return (values as number[][]).map((key) => Uint8Array.from(key));
  return typeof values[0] === "object" ? values.map(revived) : values;
}

/** A cache of names in camel case: the engine has few, and events repeat them. */
const camelCase: Map<string, string> = new Map();

function toCamelCase(name: string): string {
  if (!/[_-]/.test(name)) return name;
  let found = camelCase.get(name);
  if (found === undefined) {
    found = name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
    camelCase.set(name, found);
  }
  return found;
}
