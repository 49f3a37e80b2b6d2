/** The chapter on filters and blocks. */

import type { Chapter, Prediction } from "../chapter.ts";
import Filters from "../figures/Filters.svelte";
import { sized } from "../measure.ts";
import { type MixChanges, mixConfig, operationsOf, reportOf } from "../mixes.ts";

/** Half updates, half gets, of keys that are there. */
const MIX = { update: 50, read: 50, scan: 0 };

/** Returns a prediction of the blocks that 1,000 gets read for nothing. */
function wasted(name: string, changes: MixChanges): Prediction {
  return {
    name,
    async measure() {
      const { gets, by_level } = operationsOf(await reportOf(mixConfig("tiered", MIX, changes)));
      const wrong = by_level.reduce((sum, { false_positives }) => sum + false_positives, 0);
      return { value: (1000 * wrong) / gets };
    },
  };
}

/** The chapter. */
export const filters: Chapter = {
  id: "filters",
  name: "Filters and blocks",
  title: "What does a wrong answer cost?",
  hook: [
    "A table consists of blocks, here of 4 KiB each: to find a key, a get reads the one block that may hold it. A " +
      "get asks one run after the other, the newest first. Reading a block of each would take long, and most runs do " +
      "not have the key. So each table has a Bloom filter in memory: a few bits for each of its keys.",
    "A filter that says no is always right, and no block is read. A filter that says maybe is sometimes wrong: " +
      "a false positive, for which a block is read for nothing. Each further bit per key makes that rarer by the " +
      "same factor, 0.62.",
  ],
  answers: [
    {
      ask: "What is a false positive, and what does it cost?",
      answer:
        "A filter says maybe for a key that its table does not hold. It costs one block, read from the device for " +
        "nothing; the result of the get stays right. With 10 bits per key it happens to about one absent key in a " +
        "hundred.",
    },
  ],
  figure: Filters,
  watch: {
    settings: sized({ policy: "tiered", workload: "uniform" }),
    sights: ["wrong-filter"],
  },
  lesson:
    "A false positive costs one block, and never changes what a get returns; bits are best spent on small runs.",
  question: {
    ask:
      "Half gets, half updates under tiered compaction, simulated. How many blocks do 1,000 gets read for nothing, " +
      "with filters of 5 and of 10 bits per key? And with 10 on average, of which smaller runs get more, as Monkey " +
      "gives them?",
    unit: "blocks for nothing",
    digits: 0,
    predictions: [
      wasted("5 bits", { filterBits: 5 }),
      wasted("10 bits", { filterBits: 10 }),
      wasted("10 bits, Monkey", { filterBits: 10, parameters: { filters: "monkey" } }),
    ],
    hint:
      "Who expects twice the bits to halve the false positives thinks of a share. Each bit multiplies: five more " +
      "leave an eleventh of them.",
    after:
      "A get asks the filters of all runs above the one with its key, and their false positives add up. A small " +
      "run's filter is asked about as often as a large one's, and a bit for each of its keys costs less memory. So " +
      "Monkey takes a little from the largest runs and gives much to the small ones.",
    scale:
      "60,000 keys with values of 1 KiB, then 60,000 operations at 4,000 a second; memtables of 1 MiB, tables of " +
      "512 KiB. Gets are of keys that are there, so the last place that a get asks always has its key.",
  },
  reference:
    "B. Bloom: Space/Time Trade-offs in Hash Coding with Allowable Errors. CACM 13 (1970); N. Dayan, " +
    "M. Athanassoulis, S. Idreos: Monkey: Optimal Navigable Key-Value Store. SIGMOD 2017.",
};
