/** A simulated policy of a paper as a run that the visitor can change. */

import { encode } from "../../source/link.ts";
import { BUFFER_BYTES, describe, type Settings, type Value } from "../../source/settings.ts";
import { sized } from "../measure.ts";
import type { PaperRun } from "./figure.ts";

/** Parameters that depend on the data of the paper's store, which differs from the run's. */
const BY_DATA: ReadonlySet<string> = new Set(["buffers", "dataBytes", "windowOperations", "seed"]);

/** Returns the settings of a run with the policy, its sizes in proportion to the memtable of this page. */
export function settingsOf({ policy, buffer }: PaperRun, others: Partial<Settings>): Settings {
  const name = String(policy["policy"]) as Settings["policy"];
  const parameters: Record<string, Value> = {};
  for (const { name: own, value } of describe(name)?.parameters ?? []) {
    const given = policy[own.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)];
    if (given === undefined || BY_DATA.has(own)) continue;
    const scale = own.endsWith("Bytes") && own !== "entryBytes" ? BUFFER_BYTES / buffer : 1;
    parameters[own] =
      typeof given === "number"
        ? Math.min(Math.max(Math.round(given * scale), value.least ?? 0), value.most ?? Infinity)
        : (given as Value);
  }
  return sized({ ...others, policy: name, parameters });
}

/** Returns the fragment that opens the run. */
export function linkToRun(run: PaperRun, others: Partial<Settings>): string {
  return encode({ settings: settingsOf(run, others) });
}
