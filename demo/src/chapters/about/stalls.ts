/** The chapter on level 0, stalls and debt. */

import type { Chapter } from "../chapter.ts";
import Debt from "../figures/Debt.svelte";
import { simulated, sized, waiting } from "../measure.ts";
import type { Settings } from "../../source/settings.ts";

/** More writes than the device can merge. */
const FAST: Partial<Settings> = { policy: "leveled", rate: 60_000 };

/** The chapter. */
export const stalls: Chapter = {
  id: "stalls",
  name: "Level 0, stalls and debt",
  title: "Why do writes stop when nothing is broken?",
  hook: [
    "A write only adds to the log and to the memtable; merges follow later. So a store can take writes faster than " +
      "it can merge them, for a while. What is not merged yet is debt. It piles up in level 0, where each flush adds " +
      "a run.",
    "Every run of level 0 is one more for reads to ask, so their number has a limit. At the limit writes wait until " +
      "a merge has taken some runs away: a write stall. The store is not broken: it works at the pace of its merges.",
  ],
  answers: [
    {
      ask: "Why do writes wait?",
      answer:
        "They arrive faster than merges make room. Runs pile up in level 0, and at its limit writes wait until a " +
        "merge has taken some away. Memory that is full of memtables holds writes up in the same way.",
    },
  ],
  figure: Debt,
  watch: { settings: sized(FAST), sights: ["wait"] },
  lesson: "A limit does not make merges faster; it decides when writes start to pay for them.",
  question: {
    ask:
      "300,000 updates at 60,000 a second under leveled compaction, simulated, which is more than the device can " +
      "merge. For how many seconds do writes wait with one worker, and with four? With four at a third of the rate, " +
      "and with four under tiered compaction, which merges less?",
    unit: "seconds",
    digits: 1,
    predictions: [
      { name: "1 worker", ...simulated({ ...FAST, workers: 1 }, waiting) },
      { name: "4 workers", ...simulated(FAST, waiting) },
      { name: "4, a third of the rate", ...simulated({ ...FAST, rate: 20_000 }, waiting) },
      { name: "4, tiered", ...simulated({ ...FAST, policy: "tiered" }, waiting) },
    ],
    hint:
      "Who expects four workers to end the waits divides the work by four. Level 0 is merged by one of them at a " +
      "time, since its tables overlap, and all of them share one device.",
    after:
      "Four workers make writes wait longer than one: merges of deeper levels take the device from the merge of " +
      "level 0, for which writes wait. What ends the waits is fewer writes, or less work for each. Open a " +
      "recording, and click a red block of the ribbon to see which merge it waited for, and what held that up.",
    scale:
      "Updates of 100,000 keys with values of 1 KiB on a SATA SSD; memtables and tables of 4 MiB, T = 5, writes wait " +
      "at 9 runs of level 0.",
    vary: { say: "the same on an NVMe SSD, which keeps up", settings: { ...FAST, device: "nvme" } },
  },
  reference:
    "C. Luo, M. Carey: On Performance Stability in LSM-based Storage Systems. PVLDB 13 (2019).",
};
