/**
 * The engine's JSON. Its names are in snake case, or in kebab case where they are options; those of
 * this package are in camel case. Nothing else here knows any of these names.
 */

/** The fields that hold keys, as lists of bytes. */
const KEYS: ReadonlySet<string> = new Set(["smallest", "largest", "key"]);

/** Parses a value; its names become camel case. */
export function fromJson<T>(json: string): T {
  return JSON.parse(json, (name, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (KEYS.has(name)) return Uint8Array.from(value as number[]);
    if (name === "cuts") return (value as number[][]).map((key) => Uint8Array.from(key));
    return Array.isArray(value) ? value : renamed(value, toCamelCase);
  }) as T;
}

/** Serializes options, which are plain values; their names become kebab case. */
export function toJson(options: object): string {
  return JSON.stringify(renamed(options, toKebabCase));
}

/** Parses the engine's list of keyspaces: names by id. */
export function parseNames(json: string): [number, string][] {
  return JSON.parse(json) as [number, string][];
}

function renamed(value: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [rename(name), field]));
}

function toCamelCase(name: string): string {
  return name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function toKebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
