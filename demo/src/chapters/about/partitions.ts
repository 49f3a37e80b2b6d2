/** The chapter on coordinated partitioning. */

import type { Chapter } from "../chapter.ts";
import Partitions from "../figures/Partitions.svelte";
import { SMALL, groupsPerCompaction, simulated, sized } from "../measure.ts";

/** Least bytes of a part at flushes, small enough that flushes are cut as well. */
const FLUSH_FLOOR = 1 << 18;

/** The chapter. */
export const partitions: Chapter = {
  id: "partitions",
  name: "Coordinated partitioning",
  title: "Why does one merge take everything?",
  hook: [
    "A compaction can be divided: groups of tables that do not overlap each other can be " +
      "merged in parallel. A table that overlaps no other needs no merge. It is moved: its level " +
      "changes, and no byte is written. This is called a trivial move.",
    "But overlap chains. If table 1 overlaps table 2 and table 2 overlaps table 3, all " +
      "three belong to one merge, though 1 and 3 have nothing in common. Runs that cut a " +
      "table wherever it is full overlap like bricks in a wall, and the chain runs from end " +
      "to end.",
    "So the cuts have to agree. Local-Range halves each run's own range of keys, and cuts of two runs " +
      "agree by chance; Global-Range halves the whole key space, and they agree always.",
  ],
  figure: Partitions,
  watch: {
    settings: sized({
      policy: "tiered",
      workload: "shifting",
      parameters: { partitioner: "global-range", flushFloorBytes: FLUSH_FLOOR },
    }),
    sights: ["move"],
  },
  lesson: "Tables cut at the same keys never chain: agree on the cuts beforehand.",
  question: {
    ask:
      "Universal compaction of uniform updates, simulated: with tables cut by size, by Local-Range " +
      "and by Global-Range; the latter two at flushes, too. How many independent groups does a " +
      "compaction have on average?",
    unit: "groups",
    digits: 1,
    predictions: [
      {
        name: "cut by size",
        ...simulated(
          { policy: "universal", parameters: { partitioner: "size" } },
          groupsPerCompaction,
        ),
      },
      {
        name: "local-range",
        ...simulated(
          {
            policy: "universal",
            parameters: { partitioner: "local-range", flushFloorBytes: FLUSH_FLOOR },
          },
          groupsPerCompaction,
        ),
      },
      {
        name: "global-range",
        ...simulated(
          {
            policy: "universal",
            parameters: { partitioner: "global-range", flushFloorBytes: FLUSH_FLOOR },
          },
          groupsPerCompaction,
        ),
      },
    ],
    hint:
      "Who expects many groups of tables cut by size looks at two tables, which overlap few others. But groups " +
      "chain: one table on each border joins what lies on both sides.",
    after:
      "Groups are the work that workers can share. With tables cut by size, a second worker has " +
      "nothing to do. A group of one table would move without being rewritten; uniform updates leave " +
      "none, since each flush has keys in every part.",
    scale: SMALL,
    vary: {
      say: "ascending keys: no two tables overlap, and all of them move",
      settings: {
        policy: "universal",
        workload: "ascending",
        parameters: { partitioner: "global-range", flushFloorBytes: FLUSH_FLOOR },
      },
    },
  },
  reference:
    "Q. Mao, V. Hristidis: Increase Merge Efficiency in LSM Trees Through Coordinated " +
    "Partitioning of Sorted Runs, Figure 2 and Section IV.",
  report: "partitioning",
};
