/** Settings of a recording: the words of its sentence, and the parts of its link. */

import type { PolicyOptions } from "terrane";
import { bytes, count, inWords } from "../format.ts";
import descriptions from "../policies.json";
import type { PrefixRule } from "../layout/policy-marks.ts";

/** A value of a parameter. */
export type Value = number | string | boolean;

/** The workloads that can be chosen. */
export const WORKLOADS = {
  uniform: "uniform updates",
  zipf: "skewed updates",
  hot: "updates, most of late keys",
  growing: "updates, most of late keys, and inserts",
  shifting: "updates of shifting ranges",
  ascending: "ascending inserts",
  deletes: "updates and deletes",
  mixed: "half reads, half updates",
  prefixes: "updates under 48 prefixes",
} as const;

/** Those whose keys are loaded in order. */
const ASCENDING: ReadonlySet<string> = new Set(["ascending", "shifting", "hot", "growing"]);

/** Share of deletes, in the workload that has some. */
export const DELETES = 0.3;

/** Share of inserts, in the workload in which keys are inserted beside updates. */
export const INSERTS = 0.25;

/** Prefixes of two bytes, of the workload that has some. */
export const PREFIXES = 48;

/** The name of a workload. */
export type Workload = keyof typeof WORKLOADS;

/**
 * What a recording runs on: a simulated device, with its read and write speeds in bytes per second, or the
 * engine itself in this browser.
 */
export const DEVICES = {
  nvme: { name: "a simulated NVMe SSD", read: 2e9, write: 1e9 },
  sata: { name: "a simulated SATA SSD", read: 5e8, write: 4.5e8 },
  phone: { name: "a simulated phone", read: 3e8, write: 1.2e8 },
  opfs: { name: "the engine on this browser's files", storage: "opfs" },
  memory: { name: "the engine in this browser's memory", storage: "memory" },
} as const;

/** The name of a device. */
export type Device = keyof typeof DEVICES;

/** A recording's settings. */
export interface Settings {
  policy: PolicyOptions["policy"];
  /** Parameters that differ from the presets of this page, by name. */
  parameters: Record<string, Value>;
  workload: Workload;
  /** Bytes of a value. */
  valueBytes: number;
  /** Keys that are loaded, and operations after the load. */
  load: number;
  operations: number;
  /** Operations a second, at most; 0 for as many as possible. */
  rate: number;
  workers: number;
  device: Device;
  seed: number;
}

/** Settings that a link does not name. */
export const DEFAULTS: Settings = {
  policy: "spooky",
  parameters: {},
  workload: "zipf",
  valueBytes: 1024,
  load: 300_000,
  operations: 900_000,
  rate: 0,
  workers: 4,
  device: "sata",
  seed: 7,
};

/**
 * Settings of a new visitor: writes arrive no faster than the device can merge them down, the last level fills, and
 * levels are taller at the keys that most writes are to. Values are large, so that few operations make a tree of three
 * levels: the whole recording is simulated before a visitor would wait for it.
 */
export const CALM: Settings = {
  ...DEFAULTS,
  parameters: { sizeRatio: 4 },
  workload: "growing",
  valueBytes: 16 << 10,
  load: 16_000,
  operations: 10_000,
  rate: 1250,
};

/**
 * The moment that a new visitor sees first, in microseconds: all keys are loaded, updates and inserts have started, and
 * level 1 is full, so that a merge down to level 3 has just started. What follows grows harder: a flush, a merge in
 * level 0, the move of tables whose keys are new, and only then a dividing merge.
 */
export const CALM_FROM = 13_210_000;

/** The ranges of the numbers among the settings. */
export const RANGES = {
  valueBytes: { least: 16, most: 65_536 },
  load: { least: 1000, most: 5_000_000 },
  operations: { least: 0, most: 10_000_000 },
  rate: { least: 0, most: 10_000_000 },
  workers: { least: 1, most: 64 },
  seed: { least: 0, most: 4_294_967_295 },
} as const;

/** The most policies that a recording is compared with. */
export const RIVALS_MAX = 2;

/** Seconds of a recording in a second of the visitor. */
export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8] as const;

/** Whether a recording is one of the engine itself. */
export function isLive({ device }: Settings): boolean {
  return "storage" in DEVICES[device];
}

/** Returns the number of loaded keys, and of operations after them, by default. */
export function sizesOf(settings: Settings): Pick<Settings, "load" | "operations"> {
  const scale = isLive(settings) ? LIVE_SCALE * 2 : 1;
  return { load: DEFAULTS.load / scale, operations: DEFAULTS.operations / scale };
}

/** Sizes of trees that a page can show: a hundredth of those of a large store. */
const PRESETS: Record<string, Value> = {
  sizeRatio: 5,
  levelBaseBytes: 8 << 20,
  targetFileBytes: 4 << 20,
  splitBytes: 4 << 20,
  prefixLength: 2,
};

/** Bytes of a memtable. */
export const BUFFER_BYTES = 4 << 20;

/** By how much a recording on the engine is smaller: it goes at the speed of this machine. */
const LIVE_SCALE = 4;
const SIZES: ReadonlySet<string> = new Set(["levelBaseBytes", "targetFileBytes", "splitBytes"]);

/** A policy as the engine describes it. */
export type Description = (typeof descriptions)[number];

/** A parameter as the engine describes it. */
export type Parameter = Description["parameters"][number];

/** All policies. */
export const POLICIES: readonly Description[] = descriptions;

/** A policy by its name. */
export function describe(policy: string): Description | undefined {
  return POLICIES.find(({ name }) => name === policy);
}

/** The value of a parameter in a recording. */
export function valueOf(settings: Settings, { name, value }: Parameter): Value {
  const set = settings.parameters[name];
  if (set !== undefined) return set;
  const preset = PRESETS[name] ?? value.value ?? "";
  return isLive(settings) && SIZES.has(name) ? Number(preset) / LIVE_SCALE : preset;
}

/** The policy of a trace that does not name it. */
export const UNKNOWN = { policy: "unknown policy" } as unknown as PolicyOptions;

/** The settings of a store that has this policy: all parameters are its own. */
export function withPolicy(settings: Settings, { policy, ...parameters }: PolicyOptions): Settings {
  return { ...settings, policy, parameters: parameters as Settings["parameters"] };
}

/** A policy with all its parameters as the engine has them where nothing else was asked for. */
export function engineDefaults(policy: PolicyOptions["policy"]): Settings["parameters"] {
  const described = describe(policy)?.parameters ?? [];
  return Object.fromEntries(described.map(({ name, value }) => [name, value.value ?? ""]));
}

/** The parameters that differ from the engine's defaults, in words: `size ratio 4`. */
export function unusualParameters({ policy, parameters }: Settings): string[] {
  return Object.entries(engineDefaults(policy)).flatMap(([name, usual]) => {
    const value = parameters[name];
    return value === undefined || value === usual
      ? []
      : [`${inWords(name)} ${inText(name, value)}`];
  });
}

function inText(name: string, value: Value): string {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "string") return value === "" ? "none" : value;
  return name.endsWith("Bytes") ? bytes(value) : count(value);
}

/** Returns the rule by which the policy takes prefixes from keys, if it does. */
export function prefixRule(settings: Settings): PrefixRule | undefined {
  const described = describe(settings.policy)?.parameters ?? [];
  const value = (name: string) => {
    const found = described.find((parameter) => parameter.name === name);
    return found && valueOf(settings, found);
  };
  const length = value("prefixLength");
  if (typeof length !== "number") return undefined;
  const delimiter = Number.parseInt(String(value("prefixDelimiter")), 16);
  return { length, delimiter: Number.isNaN(delimiter) ? undefined : delimiter };
}

/** The policy's options as the simulator takes them, or with the names that the package has. */
function policyOptions(settings: Settings, nameOf: (name: string) => string): object {
  const described = describe(settings.policy)?.parameters ?? [];
  const values = described.map((parameter): [string, Value] => {
    return [nameOf(parameter.name), valueOf(settings, parameter)];
  });
  return { policy: settings.policy, ...Object.fromEntries(values) };
}

/** The policy as the simulator takes it. */
export function simulatedPolicy(settings: Settings): object {
  return policyOptions(settings, kebab);
}

/** The policy as the package takes it. */
export function livePolicy(settings: Settings): PolicyOptions {
  return policyOptions(settings, (name) => name) as PolicyOptions;
}

/** The options of a store of this recording. */
export function liveOptions(settings: Settings) {
  const device = DEVICES[settings.device];
  return {
    storage: "storage" in device ? device.storage : "memory",
    memtableBytes: BUFFER_BYTES / LIVE_SCALE,
    policies: "all",
    policy: livePolicy(settings),
  } as const;
}

/** The configuration of a simulation of this recording. */
export function configOf(settings: Settings): object {
  const { load, operations, valueBytes, rate, workers, seed } = settings;
  const device = DEVICES[settings.device];
  const speeds = "read" in device ? device : DEVICES.sata;
  const phase = { operations, clients: [{ ...clientsOf(settings), rate }] };
  const order = ASCENDING.has(settings.workload) ? "ascending" : "scattered";
  const prefixes = { count: PREFIXES, exponent: 0.5 };
  return {
    policy: simulatedPolicy(settings),
    "buffer-bytes": BUFFER_BYTES,
    "value-bytes": valueBytes,
    workers,
    device: {
      "read-speed": speeds.read,
      "write-speed": speeds.write,
      "request-bytes": 1 << 18,
      // A memtable has no blocks to read and no inputs to compare: a flush is faster than a merge.
      "flush-nanos-per-byte": 1.25,
    },
    workload: {
      load,
      "load-rate": rate,
      order,
      phases: operations > 0 ? [phase] : [],
      ...(settings.workload === "prefixes" && { prefixes }),
    },
    seed,
  };
}

function clientsOf({ workload }: Settings): object {
  switch (workload) {
    case "uniform":
    case "prefixes":
      return { mix: { update: 1 }, choice: { by: "uniform" } };
    case "zipf":
      return { mix: { update: 1 }, choice: { by: "zipf", exponent: 0.9, "move-every": 0 } };
    case "hot":
      return { mix: { update: 1 }, choice: { by: "latest", exponent: 0.6 } };
    case "growing":
      return {
        mix: { update: 1 - INSERTS, insert: INSERTS },
        choice: { by: "latest", exponent: 0.6 },
      };
    case "shifting":
      return { mix: { update: 1 }, choice: { by: "shifting-ranges", from: 3, to: 12, step: 3 } };
    case "ascending":
      return { mix: { insert: 1 }, choice: { by: "uniform" } };
    case "deletes":
      return { mix: { update: 1 - DELETES, delete: DELETES }, choice: { by: "uniform" } };
    case "mixed":
      return { mix: { update: 0.5, read: 0.5 }, choice: { by: "uniform" } };
  }
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
