/** Simulations of what would help a store whose writes wait: each changes one thing of its configuration. */

import { type Report, stalledSeconds } from "./reports.ts";

/** Operations that write. */
const WRITES = ["insert", "update", "delete", "read-modify-write"];

/** Seconds for which writes waited: all together, and the longest. */
export interface Outcome {
  waited: number;
  longest: number;
}

/** A change of a configuration. */
export interface Change {
  name: string;
  config: object;
}

/** Workers that share a merge, and the least bytes that each of them reads. */
const [SHARED, PART_BYTES] = [4, 1 << 22];

/** The part of a configuration that is changed here. */
interface Changed {
  workers: number;
  "buffer-bytes": number;
  subcompactions?: number;
  "subcompaction-bytes"?: number;
  device: { "read-speed": number; "write-speed": number };
}

/** Returns the configuration as it is, and the changes that may help. */
export function changesOf(config: object): Change[] {
  const before = config as Changed;
  const { workers, device } = before;
  const twice = {
    ...device,
    "read-speed": device["read-speed"] * 2,
    "write-speed": device["write-speed"] * 2,
  };
  return [
    { name: "as it is", config },
    { name: "one more worker", config: { ...before, workers: workers + 1 } },
    {
      name: `merges shared by ${SHARED} workers`,
      config: { ...before, subcompactions: SHARED, "subcompaction-bytes": PART_BYTES },
    },
    { name: "a device twice as fast", config: { ...before, device: twice } },
    {
      name: "memtables twice as large",
      config: { ...before, "buffer-bytes": before["buffer-bytes"] * 2 },
    },
  ];
}

/** Returns the seconds for which writes waited in a simulation, or the reason why it has no report. */
export function outcomeOf(report: Report | string): Outcome | string {
  if (typeof report === "string") return report;
  const longest = WRITES.map((kind) => report.latencies[kind]?.max ?? 0);
  return { waited: stalledSeconds(report), longest: Math.max(...longest) };
}
