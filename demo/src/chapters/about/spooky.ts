/** The chapter on Spooky. */

import type { Chapter } from "../chapter.ts";
import Dividing from "../figures/Dividing.svelte";
import { SMALL, peakSpace, simulated, sized } from "../measure.ts";

/** The chapter. */
export const spooky: Chapter = {
  id: "spooky",
  name: "Space of a merge (Spooky)",
  title: "How full can a disk be before a merge no longer fits?",
  hook: [
    "A merge keeps its inputs until its outputs are safe on disk. What matters is not only " +
      "how much it writes, but also how much it holds at once.",
    "These are the two largest levels of one tree with T = 4: 16 MiB of updates over 64 MiB " +
      "of live data, on a disk of 100 MiB. Every update replaces a key that is already there. " +
      "The same merge runs in three ways.",
    "At its end a full merge holds its inputs, 16 and 64 MiB, and its output, 64 MiB: 144 MiB in all. Spooky " +
      "merges piece by piece, and each piece frees its inputs before the next. For that both levels must be cut at " +
      "the same keys, and a dividing merge higher up has seen to it: it cut its outputs where the largest " +
      "level is cut.",
  ],
  figure: Dividing,
  watch: { settings: sized({ policy: "spooky" }), sights: ["dividing", "freed"] },
  lesson:
    "Where both levels share their cuts, a merge frees space as it goes, and writes nothing twice.",
  question: {
    ask:
      "Uniform updates, simulated. What is the most that each policy has on disk at once, as a " +
      "multiple of the live data?",
    unit: "× live data",
    digits: 2,
    predictions: [
      { name: "leveled-full", ...simulated({ policy: "leveled-full" }, peakSpace) },
      { name: "leveled", ...simulated({ policy: "leveled" }, peakSpace) },
      { name: "spooky", ...simulated({ policy: "spooky" }, peakSpace) },
    ],
    hint:
      "Who gives the full merge 1.25 adds its inputs, and forgets its outputs. Until these are safe, both are " +
      "on disk.",
    after:
      "Open the Spooky recording and step with k to a merge into the largest level: the inputs " +
      "of its groups are freed one by one, from left to right; the level marked X has the " +
      "cuts for them. In the example partial merges hold least, one small merge after " +
      "the other. Here leveled holds more than Spooky: its four workers merge at once, and each " +
      "of its levels holds older versions of the same keys.",
    scale: SMALL,
    vary: {
      say: "X one level higher: three levels below it share its cuts",
      settings: { policy: "spooky", parameters: { levelsBelow: 3 } },
    },
  },
  reference:
    "N. Dayan, T. Weiss, S. Dashevsky, M. Pan, E. Bortnikov, M. Twitto: Spooky: Granulating " +
    "LSM-Tree Compactions Correctly. PVLDB 15 (2022), sections 3 and 4.",
  report: "spooky",
};
