/** A link to a moment of a recording: all that is needed to see it again, in the fragment of the address. */

import type { AxisBy } from "../layout/key-axis.ts";
import type { Zoom } from "../layout/zoom.ts";
import { fromHex, keyHex } from "./hex.ts";
import {
  CALM,
  CALM_FROM,
  DEFAULTS,
  describe,
  DEVICES,
  type Parameter,
  RANGES,
  RIVALS_MAX,
  type Settings,
  SPEEDS,
  type Value,
  WORKLOADS,
} from "./settings.ts";

/** View of the tree. */
export type View = "picture" | "text" | "compare";

/** At which moment others are shown beside it: after as many bytes accepted, or at the same second. */
export type SameBy = "bytes" | "seconds";

/** Content of a link. */
export interface Linked {
  settings: Settings;
  /** Microseconds. */
  at?: number | undefined;
  speed?: number | undefined;
  /** Whether the recording plays from the moment, as it does for a new visitor. */
  plays?: boolean | undefined;
  /** Whether time moves from decision to decision. */
  reading?: boolean | undefined;
  /** The part of the key space that is shown, if it is not all. */
  zoom?: Zoom | undefined;
  /** Measure of equal widths, if it is not equal bytes. */
  axis?: AxisBy | undefined;
  /** View of the tree, if it is not a picture. */
  view?: View | undefined;
  /** By what the moments of others are found, if it is not by bytes. */
  same?: SameBy | undefined;
  /** The id of a table. */
  selected?: number | undefined;
  /** The key that is read. */
  read?: Uint8Array | undefined;
  /** The policies of rivals, and the moment at which they take over the tree of the recording. */
  rivals?: readonly Settings["policy"][] | undefined;
  from?: number | undefined;
}

/** The least part of the key space that a link shows. */
const ZOOM_LEAST = 0.03;

/** The form of links. */
const VERSION = "v1";

/** The fragment of the visitor's own store, which leads elsewhere on every device. */
export const OWN_STORE = "#store";

/** The fragment of an address, without its `#`. */
export function encode({
  settings,
  at,
  speed,
  reading,
  zoom,
  axis,
  view,
  same,
  selected,
  read,
  rivals,
  from,
}: Linked): string {
  const { parameters, ...rest } = settings;
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) fields.set(name, String(value));
  for (const [name, value] of Object.entries(parameters)) fields.set(`p.${name}`, String(value));
  const cmp = rivals?.join(",");
  const shown = zoom && `${rounded(zoom.from)},${rounded(zoom.to)}`;
  const key = read && keyHex(read);
  const shape = { zoom: shown, axis, view, same, sel: selected };
  const pace = reading === true ? "reading" : undefined;
  const places = { at, speed, pace, ...shape, read: key, cmp, from };
  for (const [name, value] of Object.entries(places)) {
    if (value !== undefined) fields.set(name, String(value));
  }
  return `${VERSION}&${fields}`;
}

/** Decodes a fragment; settings that it lacks, or has wrongly, are those of a new visitor. */
export function decode(fragment: string): Linked {
  const text = fragment.replace(/^#/, "");
  if (!text.startsWith(`${VERSION}&`))
    return { settings: CALM, at: CALM_FROM, plays: true, reading: true };
  const fields = new URLSearchParams(text.slice(VERSION.length + 1));
  const policy = fields.get("policy") ?? "";
  const described = describe(policy);
  const settings: Settings = {
    ...DEFAULTS,
    ...(described === undefined ? {} : { policy: policy as Settings["policy"] }),
    workload: oneOf(WORKLOADS, fields.get("workload")) ?? DEFAULTS.workload,
    device: oneOf(DEVICES, fields.get("device")) ?? DEFAULTS.device,
    parameters: parametersOf(described?.parameters ?? [], fields),
  };
  for (const [name, { least, most }] of Object.entries(RANGES)) {
    const value = number(fields.get(name), least, most);
    if (value !== undefined) settings[name as keyof typeof RANGES] = value;
  }
  return {
    settings,
    at: number(fields.get("at"), 0, Number.MAX_SAFE_INTEGER),
    speed: nearestSpeed(Number(fields.get("speed") ?? Number.NaN)),
    reading: fields.get("pace") === "reading" ? true : undefined,
    zoom: zoomOf(fields.get("zoom")),
    axis: fields.get("axis") === "keys" ? "keys" : undefined,
    view: oneOf({ text: true, compare: true }, fields.get("view")),
    same: fields.get("same") === "seconds" ? "seconds" : undefined,
    selected: number(fields.get("sel"), 0, Number.MAX_SAFE_INTEGER),
    read: keyOf(fields.get("read")),
    rivals: rivalsOf(fields.get("cmp")),
    from: number(fields.get("from"), 0, Number.MAX_SAFE_INTEGER),
  };
}

function oneOf<T extends object>(choices: T, name: string | null): keyof T | undefined {
  return name !== null && Object.hasOwn(choices, name) ? (name as keyof T) : undefined;
}

function number(text: string | null, least: number, most: number): number | undefined {
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isInteger(value) && value >= least && value <= most ? value : undefined;
}

/** To a ten-thousandth of all keys: less than a pixel. */
function rounded(position: number): number {
  return Math.round(position * 1e4) / 1e4;
}

function zoomOf(text: string | null): Zoom | undefined {
  const [from = Number.NaN, to = Number.NaN] = (text ?? "").split(",").map(Number);
  return from >= 0 && to <= 1 && to - from >= ZOOM_LEAST ? { from, to } : undefined;
}

function keyOf(digits: string | null): Uint8Array | undefined {
  return digits === null || digits === "" ? undefined : fromHex(digits);
}

function rivalsOf(names: string | null): Linked["rivals"] {
  const known = (names ?? "").split(",").filter((name) => describe(name) !== undefined);
  return known.length === 0 ? undefined : (known.slice(0, RIVALS_MAX) as Settings["policy"][]);
}

function nearestSpeed(speed: number): number | undefined {
  if (!(speed > 0)) return undefined;
  const distance = (other: number) => Math.abs(Math.log(other / speed));
  return SPEEDS.toSorted((a, b) => distance(a) - distance(b))[0];
}

function parametersOf(
  described: readonly Parameter[],
  fields: URLSearchParams,
): Settings["parameters"] {
  const found: Record<string, Value> = {};
  for (const { name, value } of described) {
    const text = fields.get(`p.${name}`);
    if (text === null) continue;
    if (value.kind === "switch") found[name] = text === "true";
    else if (value.kind === "choice") {
      if (value.among?.includes(text)) found[name] = text;
    } else if (value.kind === "number") {
      const parsed = number(text, value.least ?? 0, value.most ?? Number.MAX_SAFE_INTEGER);
      if (parsed !== undefined) found[name] = parsed;
    } else found[name] = text;
  }
  return found;
}
