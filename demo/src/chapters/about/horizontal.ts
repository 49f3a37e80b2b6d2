/** The chapter on horizontal growth. */

import type { Chapter } from "../chapter.ts";
import CounterWalk from "../figures/CounterWalk.svelte";
import Horizontal from "../figures/Horizontal.svelte";
import { SMALL, simulated, sized, writing } from "../measure.ts";

/** The chapter. */
export const horizontal: Chapter = {
  id: "horizontal",
  name: "Horizontal growth",
  title: "When should runs be merged?",
  hook: [
    "A tree can grow sideways: it keeps its number of levels, and their capacities grow " +
      "with the data. Then the question is when to merge. Suppose 60 MB arrive in runs of 10 " +
      "MB, with one lookup per megabyte, and you may merge level 1 into a run of level 2 three " +
      "times, the last time at the end. Each arrival is an admission: what has gathered in level 0, about a buffer " +
      "full, goes down to level 1 at once.",
    "A lookup asks every run that is there. Merge early, and the new run of level 2 is " +
      "asked from then on; merge late, and level 1 piles up.",
    "A counter for each level decides. The drawings go through the example's round of two levels, counted from " +
      "3, one admission at a time. The recording has three levels and one round after another, each from a larger " +
      "number: 1 admission from 1, 4 from 2, 20 from 4, then 56 from 6.",
  ],
  answers: [
    {
      ask: "How do the counters of horizontal tiering choose when to merge?",
      answer:
        "Each level has a counter, and all start at the same number k. Every admission, a batch of runs from " +
        "level 0, lowers the first by one. A level whose counter is 0 is due: all of its runs become one run of " +
        "the next level, and the next counter is lowered by one. If that is 0 too, the same happens there. Then " +
        "the counters above the level where it ended start again at that level's count. So with two levels and k " +
        "= 3 there are merges after admissions 3, 5 and 6: seldom at first, then ever more often. When all " +
        "counters are 0 the round is over. The last level's runs stay, and a new round is laid out for twice the " +
        "data. k is the least number for which the round has room for the data: with two levels it has 1 + 2 + … " +
        "+ k admissions.",
    },
  ],
  figure: Horizontal,
  steps: CounterWalk,
  watch: { settings: sized({ policy: "horizontal-tiering" }), sights: ["admission"] },
  lesson:
    "A run that is written late is read for a shorter time: merge less often at first, and " +
    "ever more often towards the end.",
  question: {
    ask:
      "Uniform updates, simulated. Leveling grows downwards; horizontal leveling and tiering " +
      "keep three levels and count admissions. How many bytes does each write to tables for " +
      "each byte that it accepts?",
    unit: "written per byte",
    digits: 1,
    predictions: [
      { name: "leveled-full", ...simulated({ policy: "leveled-full" }, writing) },
      {
        name: "horizontal-leveling",
        ...simulated({ policy: "horizontal-leveling" }, writing),
      },
      {
        name: "horizontal-tiering",
        ...simulated({ policy: "horizontal-tiering" }, writing),
      },
    ],
    hint:
      "Who expects leveling to write least looks at one merge, which is small. But it merges after each " +
      "admission, and each time rewrites what the level holds already.",
    after:
      "Counting admissions writes less: its merges are large, and few and far between. " +
      "Open the " +
      "recordings: the counters stand beside their levels, and the disk holds up to three times " +
      "the live data while all of it is merged. To avoid that, Vertiorizon adds two vertical " +
      "levels below.",
    scale: SMALL,
    vary: {
      say: "Vertiorizon: the same counters over two levels that grow downwards",
      settings: {
        policy: "vertiorizon",
        parameters: { levels: 3, mergePolicy: "tiering", buffers: 20 },
      },
    },
  },
  reference: "How to Grow an LSM-tree? (Vertiorizon), Algorithms 2 and 3 and Figure 4.",
  report: "vertiorizon",
};
