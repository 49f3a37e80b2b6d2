/** The chapter on leveling and tiering. */

import type { Chapter } from "../chapter.ts";
import Levels from "../figures/Levels.svelte";
import { SMALL, simulated, sized, writing } from "../measure.ts";

/** The chapter. */
export const levels: Chapter = {
  id: "levels",
  name: "Leveling or tiering",
  title: "Can one tree write least and read least?",
  hook: [
    "Every level is T times as large as the one above. A run is a row of tables whose keys do " +
      "not overlap. Under leveling a level is one run: whatever arrives from above is merged " +
      "with what is there, so each entry is rewritten some T/2 " +
      "times in every level. Under tiering a level collects up to T − 1 runs, and they are " +
      "merged once, on their way down.",
    "Fewer runs are good for reads, which may have to look into each; fewer merges are good " +
      "for writes. Lazy leveling keeps a single run only in the largest level, where almost all " +
      "data is.",
  ],
  answers: [
    {
      ask: "What is the difference between leveling and tiering?",
      answer:
        "Under leveling a level is one run, and what arrives is merged with it at once: few runs to read, many " +
        "bytes written. Under tiering a level collects several runs before they are merged: few bytes written, " +
        "many runs to read. Lazy leveling tiers all levels but the largest.",
    },
  ],
  figure: Levels,
  watch: { settings: sized({ policy: "leveled-full" }), sights: ["rewrite"] },
  lesson: "You do not avoid the cost of order; you choose whom to charge.",
  question: {
    ask:
      "Uniform updates, simulated with T = 5, slowly enough for every policy to keep up. How many " +
      "bytes does each write to tables for each byte that it accepts?",
    unit: "written per byte",
    digits: 1,
    predictions: [
      { name: "leveled-full", ...simulated({ policy: "leveled-full" }, writing) },
      { name: "lazy-leveled", ...simulated({ policy: "lazy-leveled" }, writing) },
      { name: "tiered-full", ...simulated({ policy: "tiered-full" }, writing) },
    ],
    hint:
      "Who orders by the number of runs thinks that a run costs a write. A run costs reads; what costs writes " +
      "is each merge that a run is spared.",
    after:
      "The order is the model's. The figures differ from it: a flush counts as a write here, " +
      "and a small tree is never full in all of its levels.",
    scale: SMALL,
    vary: {
      say: "T = 10: leveling has fewer levels, and merges more often in each",
      settings: { policy: "leveled-full", parameters: { sizeRatio: 10 } },
    },
  },
  reference:
    "N. Dayan, S. Idreos: Dostoevsky: Better Space-Time Trade-Offs for LSM-Tree Based " +
    "Key-Value Stores via Adaptive Removal of Superfluous Merging. SIGMOD 2018.",
  report: "fluid",
};
