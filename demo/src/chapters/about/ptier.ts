/** The chapter on PTierDB. */

import type { Chapter } from "../chapter.ts";
import MoveOrMerge from "../figures/MoveOrMerge.svelte";
import PairRule from "../figures/PairRule.svelte";
import type { Settings } from "../../source/settings.ts";
import { SMALL, simulated, sized, writing } from "../measure.ts";

/** Tables end between prefixes, as the paper has it: none is as large as those that may end within one. */
const SPLIT: Partial<Settings> = {
  policy: "ptier",
  workload: "prefixes",
  parameters: { splitBytes: 1 << 20, targetFileBytes: 64 << 20 },
};

/** The chapter. */
export const ptier: Chapter = {
  id: "ptier",
  name: "PTierDB",
  title: "Which tables move down without being rewritten?",
  hook: [
    "Keys often share prefixes: a customer, a user, a sensor. PTierDB cuts tables between prefixes and knows " +
      "which prefixes each one holds. When tables go down a level, each prefix is looked at alone. Do three " +
      "tables or more hold it? They are merged. Do two hold it? They are merged if they are of a kind: both hold " +
      "a single prefix, or both hold several. All other tables are moved as they are.",
    "Two that are not of a kind are spared. The bytes of their shared prefix are few beside what would be " +
      "rewritten: the table of several prefixes holds others that have no part in it. A read then asks two tables " +
      "for that prefix rather than one.",
    "The output of a merge is as new as its newest input. That is where care is needed: a " +
      "table that was moved must not end up below data that is older than its own.",
  ],
  answers: [
    {
      ask: "When does PTierDB merge, and when does it move?",
      answer:
        "A level that is full goes down whole. A table that overlaps no other moves. Among tables that overlap, " +
        "each prefix decides alone. Tables that share a prefix with at least two others are merged. Two alone " +
        "that share a prefix are merged if both hold a single prefix, or both hold several. If one holds a single " +
        "prefix and the other several, neither is merged for it, since the other prefixes would be rewritten for " +
        "nothing. All others move as they are. One exception keeps reads right: where an old version would then " +
        "lie above a newer one, the table of the newer one joins the merge.",
    },
  ],
  figure: MoveOrMerge,
  steps: PairRule,
  watch: { settings: sized(SPLIT), sights: ["moves"] },
  lesson: "A move is free only if the order of versions survives it.",
  question: {
    ask:
      "Uniform updates of keys with 48 prefixes, simulated. How many bytes are written to " +
      "tables for each byte accepted?",
    unit: "written per byte",
    digits: 1,
    predictions: [
      {
        name: "leveled",
        ...simulated({ policy: "leveled", workload: "prefixes" }, writing),
      },
      { name: "tiered", ...simulated({ policy: "tiered", workload: "prefixes" }, writing) },
      { name: "ptier", ...simulated(SPLIT, writing) },
    ],
    hint:
      "Who expects PTierDB to write less than tiering takes a move for a saving against it. Both write most " +
      "entries once a level; what moves save is rewriting, as leveling does it.",
    after:
      "PTierDB writes about as little as tiering, and also gains tables of a single prefix: " +
      "look for the solid caps in the deeper levels. Here a compaction moves all of its tables, which one merge has " +
      "cut between prefixes and which overlap no other, or merges all, when the level has three such runs. So the " +
      "rule for pairs decides in the example above, for b and d, and hardly ever here.",
    scale: `${SMALL} PTierDB's tables end at the next prefix from 1 MiB on.`,
    vary: {
      say: "prefixes of one byte instead of two",
      settings: { policy: "ptier", workload: "prefixes", parameters: { prefixLength: 1 } },
    },
  },
  reference:
    "L. Liu, K. Zhou: PTierDB: Building Better Read-Write Cost Balanced Key-Value Stores " +
    "for Small Data on SSD. Closing the set is our addition: under the rule as printed, an " +
    "old version resurfaces.",
  report: "ptierdb",
};
