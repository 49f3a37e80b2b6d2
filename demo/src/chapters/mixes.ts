/** Simulations of a mix of operations under any policy, and what they cost. */

import { configOf, DEFAULTS, DEVICES, type Settings } from "../source/settings.ts";
import { type Figures, type Report, simulateReports } from "../source/reports.ts";
import { type Costs, costsOf, type Device } from "./models/choice.ts";

/** Shares of operations. */
export interface Mix {
  update: number;
  read: number;
  scan: number;
}

/** Keys, operations on them, and operations a second, a rate at which every policy keeps up. */
const [LOAD, OPERATIONS, RATE] = [60_000, 60_000, 4000];

/** Name of the phase of the operations. */
const OPERATIONS_NAME = "operations";

/** Bytes of a memtable, of the base of levels and of a table: a hundredth of those of a large store. */
const [BUFFER, BASE, TABLE] = [1 << 20, 1 << 20, 1 << 19];

/** Bytes of the cache of blocks: a twentieth of the keys' values. */
const CACHE = 3 << 20;

/** Entries of a scan, at most. */
const SCANNED = 20;

/** Time of a block, besides its bytes, in microseconds. */
const BLOCK_MICROS = 80;

const { read, write } = DEVICES.nvme;
const DEVICE: Device = { read, write, blockMicros: BLOCK_MICROS + (4096 / read) * 1e6 };

/** Changes of a simulation of a mix: further parameters of the policy, and filter bits of each key. */
export interface MixChanges {
  parameters?: Settings["parameters"];
  filterBits?: number;
}

/** Returns the configuration of a simulation of a mix under a policy. */
export function mixConfig(
  policy: Settings["policy"],
  mix: Mix,
  { parameters: more = {}, filterBits = 10 }: MixChanges = {},
): object {
  const sizes = { levelBaseBytes: BASE, targetFileBytes: TABLE, splitBytes: TABLE };
  const parameters = { ...sizes, ...more };
  const settings: Settings = { ...DEFAULTS, policy, parameters, device: "nvme", load: LOAD };
  const clients = { mix, choice: { by: "uniform" }, rate: RATE, "scan-entries": SCANNED };
  return {
    ...configOf(settings),
    "buffer-bytes": BUFFER,
    "cache-bytes": CACHE,
    "filter-bits-per-key": filterBits,
    workload: {
      load: LOAD,
      phases: [
        {
          name: OPERATIONS_NAME,
          "wait-until-idle": true,
          operations: OPERATIONS,
          clients: [clients],
        },
      ],
    },
  };
}

/** Returns the costs of a report of such a simulation. */
export function mixCosts(report: Report): Costs {
  return costsOf(report, DEVICE);
}

/** Simulates one policy; resolves to its costs. */
export async function measureMix(policy: Settings["policy"], mix: Mix): Promise<Costs> {
  return mixCosts(await reportOf(mixConfig(policy, mix)));
}

/** Simulates one configuration; resolves to its report. */
export function reportOf(config: object): Promise<Report> {
  return new Promise((resolve, reject) => {
    const stop = simulateReports([config], (_, report) => {
      stop();
      if (typeof report === "string") reject(new Error(report));
      else resolve(report);
    });
  });
}

/** Returns the figures of a report's operations, without those of the load. */
export function operationsOf({ phases }: Report): Figures {
  const found = phases.find(({ name }) => name === OPERATIONS_NAME);
  if (found === undefined) throw new Error("The report has no phase of operations.");
  return found;
}
