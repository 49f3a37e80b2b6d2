/** A link to a moment of a recording: all that is needed to see it again, in the fragment of the address. */

import type { ScaleBy } from "../layout/bands.ts";
import type { AxisBy } from "../layout/key-axis.ts";
import type { Zoom } from "../layout/zoom.ts";
import { type SightName, SIGHTS } from "../timeline/sights.ts";
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
  /** Kind of moment that the recording is watched for, and shown at unless `at` names another. */
  watch?: SightName | undefined;
  /** The part of the key space that is shown, if it is not all. */
  zoom?: Zoom | undefined;
  /** Measure of equal widths, if it is not equal bytes. */
  axis?: AxisBy | undefined;
  /** Scales of levels, if each has not its own. */
  scale?: ScaleBy | undefined;
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
  /** Parts of the link that this page cannot show, as a sentence. */
  problem?: string | undefined;
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
  watch,
  zoom,
  axis,
  scale,
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
  const shape = { zoom: shown, axis, scale, view, same, sel: selected };
  const pace = reading === true ? "reading" : undefined;
  const places = { at, speed, pace, watch, ...shape, read: key, cmp, from };
  for (const [name, value] of Object.entries(places)) {
    if (value !== undefined) fields.set(name, String(value));
  }
  return `${VERSION}&${fields}`;
}

/** Decodes a fragment; settings that it lacks, or has wrongly, are those of a new visitor. */
export function decode(fragment: string): Linked {
  const text = fragment.replace(/^#/, "");
  if (text !== VERSION && !text.startsWith(`${VERSION}&`)) {
    return { settings: CALM, at: CALM_FROM, plays: true, reading: true, problem: unknown(text) };
  }
  const fields = new Fields(text.slice(VERSION.length + 1));
  const policy = fields.take("policy", policyOf) ?? DEFAULTS.policy;
  const settings: Settings = {
    ...DEFAULTS,
    policy,
    workload: fields.take("workload", among(WORKLOADS)) ?? DEFAULTS.workload,
    device: fields.take("device", among(DEVICES)) ?? DEFAULTS.device,
    parameters: parametersOf(describe(policy)?.parameters ?? [], fields),
  };
  for (const [name, { least, most }] of Object.entries(RANGES)) {
    const value = fields.take(name, whole(least, most));
    if (value !== undefined) settings[name as keyof typeof RANGES] = value;
  }
  const linked: Linked = {
    settings,
    at: fields.take("at", whole(0)),
    speed: fields.take("speed", (text) => nearestSpeed(Number(text))),
    reading: fields.take("pace", (text) => text === "reading" || undefined),
    watch: fields.take("watch", among<SightName>(SIGHTS)),
    zoom: fields.take("zoom", zoomOf),
    axis: fields.take("axis", among<AxisBy>({ bytes: true, keys: true })),
    scale: fields.take("scale", among<ScaleBy>({ level: true, tree: true })),
    view: fields.take("view", among<View>({ picture: true, text: true, compare: true })),
    same: fields.take("same", among<SameBy>({ bytes: true, seconds: true })),
    selected: fields.take("sel", whole(0)),
    read: fields.take("read", (text) => (text === "" ? undefined : fromHex(text))),
    rivals: fields.take("cmp", rivalsOf),
    from: fields.take("from", whole(0)),
  };
  const instead = fields.isLeft("policy") ? ` It shows ${policy} instead.` : "";
  const problem = fields.problem();
  return { ...linked, problem: problem && `${problem}${instead}` };
}

/** Returns the reason why a fragment is no link of this page, if it says anything. */
function unknown(text: string): string | undefined {
  if (text === "") return undefined;
  const form = /^v\d+(?=&|$)/.exec(text)?.[0];
  const problem = form
    ? `This page shows links of the form ${VERSION}; this one has ${form}.`
    : `No link of this page ends in #${text.slice(0, 40)}.`;
  return `${problem} Here is an example instead.`;
}

/** The fields of a link, and those of them that nothing could be read from. */
class Fields {
  readonly #texts: URLSearchParams;
  readonly #left: Set<string>;

  constructor(text: string) {
    this.#texts = new URLSearchParams(text);
    this.#left = new Set(this.#texts.keys());
  }

  /** Returns what is read from a field, or undefined if it is not there or cannot be read. */
  take<T>(name: string, read: (text: string) => T | undefined): T | undefined {
    const text = this.#texts.get(name);
    const value = text === null ? undefined : read(text);
    if (value !== undefined) this.#left.delete(name);
    return value;
  }

  /** Whether a field is there, and nothing could be read from it. */
  isLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** Names the fields that were not taken. */
  problem(): string | undefined {
    if (this.#left.size === 0) return undefined;
    const fields = [...this.#left].map((name) => `${name}=${this.#texts.get(name) ?? ""}`);
    const named = fields.slice(0, 3).map((field) => field.slice(0, 40));
    const more = fields.length > named.length ? `, and ${fields.length - named.length} more` : "";
    return `This link is shown without what this page cannot read in it: ${named.join(", ")}${more}.`;
  }
}

/** Reads one of several names. */
function among<Name extends string>(names: Record<Name, unknown>) {
  return (text: string): Name | undefined =>
    Object.hasOwn(names, text) ? (text as Name) : undefined;
}

/** Reads a whole number of a range. */
function whole(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return (text: string): number | undefined => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    return Number.isInteger(value) && value >= least && value <= most ? value : undefined;
  };
}

function policyOf(text: string): Settings["policy"] | undefined {
  return describe(text) && (text as Settings["policy"]);
}

/** To a ten-thousandth of all keys: less than a pixel. */
function rounded(position: number): number {
  return Math.round(position * 1e4) / 1e4;
}

function zoomOf(text: string): Zoom | undefined {
  const [from = Number.NaN, to = Number.NaN] = text.split(",").map(Number);
  return from >= 0 && to <= 1 && to - from >= ZOOM_LEAST ? { from, to } : undefined;
}

/** Reads the names of policies, which may be none, unless one of them is unknown or they are too many. */
function rivalsOf(text: string): Linked["rivals"] {
  if (text === "") return [];
  const names = text.split(",");
  const known = names.flatMap((name) => policyOf(name) ?? []);
  return known.length === names.length && known.length <= RIVALS_MAX ? known : undefined;
}

function nearestSpeed(speed: number): number | undefined {
  if (!(speed > 0)) return undefined;
  const distance = (other: number) => Math.abs(Math.log(other / speed));
  return SPEEDS.toSorted((a, b) => distance(a) - distance(b))[0];
}

function parametersOf(described: readonly Parameter[], fields: Fields): Settings["parameters"] {
  const found: Record<string, Value> = {};
  for (const { name, value } of described) {
    const read = (text: string): Value | undefined => {
      switch (value.kind) {
        case "switch":
          return text === "true" || (text === "false" ? false : undefined);
        case "choice":
          return value.among?.includes(text) ? text : undefined;
        case "number":
          return whole(value.least ?? 0, value.most)(text);
        default:
          return text;
      }
    };
    const given = fields.take(`p.${name}`, read);
    if (given !== undefined) found[name] = given;
  }
  return found;
}
