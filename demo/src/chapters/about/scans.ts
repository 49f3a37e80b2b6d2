/** The chapter on scans and runs. */

import type { Chapter, Prediction } from "../chapter.ts";
import Scans from "../figures/Scans.svelte";
import { sized } from "../measure.ts";
import { mixConfig, operationsOf, reportOf } from "../mixes.ts";
import type { Settings } from "../../source/settings.ts";

/** Updates with some gets and as many scans. */
const MIX = { update: 80, read: 10, scan: 10 };

/** Returns predictions of the blocks that a get and a scan read under a policy. */
function blocks(policy: Settings["policy"]): Prediction[] {
  const figures = async () => operationsOf(await reportOf(mixConfig(policy, MIX)));
  return [
    {
      name: `${policy}, a get`,
      measure: async () => ({ value: (await figures()).read_ios_per_get }),
    },
    {
      name: `${policy}, a scan`,
      measure: async () => ({ value: (await figures()).read_ios_per_scan }),
    },
  ];
}

/** The chapter. */
export const scans: Chapter = {
  id: "scans",
  name: "Scans and runs",
  title: "Why does a scan read what a get skips?",
  hook: [
    "A get knows its key, and asks the filter of each run for it. A scan knows only where to start: the next key " +
      "may be in any run, and no filter of single keys can say that it is not.",
    "So a scan keeps a place in each run, and returns the least key of them all, again and again. To start, it reads " +
      "a block of every run, even if it returns only one key.",
  ],
  answers: [
    {
      ask: "Why does a scan cost more than a get?",
      answer:
        "Filters know single keys, so a scan cannot skip a run: it reads at least one block of every run. A get " +
        "reads one block, of the run that has its key.",
    },
  ],
  figure: Scans,
  watch: { settings: sized({ policy: "tiered", workload: "uniform" }), sights: ["runs"] },
  lesson: "A get pays for the run that has its key; a scan pays for every run that there is.",
  question: {
    ask:
      "Updates with 10 % gets and 10 % scans of up to 20 keys, simulated. How many blocks does each read from the " +
      "device, under leveled and under tiered compaction?",
    unit: "blocks",
    digits: 1,
    predictions: [...blocks("leveled"), ...blocks("tiered")],
    hint:
      "Who expects gets to suffer from runs as scans do forgets the filters. Who expects scans to be alike looks at " +
      "the keys that they return, which are equally many. But a block of each run is read to find where to start.",
    after:
      "Gets hardly differ: filters answer for all runs but one. A scan reads a block of each run, and more where " +
      "values are large: 20 keys of 1 KiB fill some blocks even in a single run.",
    scale:
      "60,000 keys with values of 1 KiB, then 60,000 operations at 4,000 a second; memtables of 1 MiB, tables of " +
      "512 KiB, blocks of 4 KiB, a cache of 3 MiB, which answers for some blocks.",
  },
  reference:
    "N. Dayan, S. Idreos: Dostoevsky: Better Space-Time Trade-Offs for LSM-Tree Based Key-Value Stores via " +
    "Adaptive Removal of Superfluous Merging. SIGMOD 2018.",
};
