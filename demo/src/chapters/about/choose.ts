/** The chapter on choosing a policy by the operations that a store gets. */

import type { Chapter } from "../chapter.ts";
import Choose from "../figures/Choose.svelte";
import { measureMix, type Mix } from "../mixes.ts";
import { deviceMicros } from "../models/choice.ts";
import type { Settings } from "../../source/settings.ts";

/** Updates with some gets, and with half as many scans. */
export const [GETS, SCANS]: readonly [Mix, Mix] = [
  { update: 90, read: 10, scan: 0 },
  { update: 95, read: 0, scan: 5 },
];

/** Returns a prediction of the device's time for an operation. */
function timeOf(
  name: string,
  policy: Settings["policy"],
  mix: Mix,
): Chapter["question"]["predictions"][number] {
  return { name, measure: async () => ({ value: deviceMicros(await measureMix(policy, mix)) }) };
}

/** The chapter. */
export const choose: Chapter = {
  id: "choose",
  name: "Choosing a policy",
  title: "Which policy for these reads and writes?",
  hook: [
    "No policy writes, reads and takes space least. Leveling rewrites entries so that few runs are left to read; " +
      "tiering lets runs pile up. Which is right depends on the operations, and their costs can be added up: bytes " +
      "that compactions move and blocks that reads fetch are both time of the device.",
    "A get asks the filters of all runs, and mostly reads one block of one run, however many there are. A scan has " +
      "no filter to ask: it reads a block of each run. So gets hardly care how many runs a policy leaves, and a few " +
      "scans decide.",
  ],
  answers: [
    {
      ask: "Which policy suits heavy writes and range scans?",
      answer:
        "One that leaves few runs and still rewrites little. Of 90 % updates and 10 % scans, measured in this " +
        "chapter, horizontal leveling takes the least time of the device, and 2.3 times the space of the data; " +
        "Spooky takes little more, and 1.3 times the space. Leveling has about as few runs to scan and writes more. " +
        "Tiering writes a third of what leveling writes, but a scan reads a block of every run: it is worth " +
        "its runs only where hardly anything is scanned. Lazy leveling lies between the two in both.",
    },
  ],
  figure: Choose,
  lesson:
    "Add up the device's time: filters let gets ignore runs, and a scan pays for each of them.",
  question: {
    ask:
      "The same store again, with the device's time for an operation: under updates with 10 % gets, and under " +
      "updates with 5 % scans. How many microseconds does an operation take under leveled and under tiered compaction?",
    unit: "µs of the device for an operation",
    digits: 1,
    predictions: [
      timeOf("leveled, 10 % gets", "leveled", GETS),
      timeOf("tiered, 10 % gets", "tiered", GETS),
      timeOf("leveled, 5 % scans", "leveled", SCANS),
      timeOf("tiered, 5 % scans", "tiered", SCANS),
    ],
    hint:
      "By its runs, a get should be dear under tiered compaction. But filters answer for nearly all of them: a get " +
      "reads one block under either policy.",
    after:
      "With gets, tiered compaction is cheaper: it writes a third, and a get reads one block under both. With half " +
      "as many scans it is dearer: a scan reads a block of each of its runs, and one in twenty operations outweighs " +
      "all that writes save. Set such mixes above, and see which policies trade writes for scans better.",
    scale:
      "60,000 keys with values of 1 KiB, then 60,000 operations at 4,000 a second, at which every policy keeps up; " +
      "memtables of 1 MiB, tables of 512 KiB, a cache of 3 MiB, a fast SSD of 80 µs a block. The order holds for " +
      "these sizes; for a store of your own, ask the command “terrane advise”.",
  },
  reference:
    "N. Dayan, M. Athanassoulis, S. Idreos: Monkey: Optimal Navigable Key-Value Store. SIGMOD 2017; " +
    "N. Dayan, S. Idreos: Dostoevsky. SIGMOD 2018.",
};
