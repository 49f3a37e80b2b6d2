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
      "There are three ways to do the same merge.",
    "At its end a full merge holds its inputs, 16 and 64 MiB, and its output, 64 MiB: 144 MiB in " +
      "all, 2.25 times the 64 MiB of live data. Spooky " +
      "merges piece by piece, and each piece frees its inputs before the next. For that both levels must be cut at " +
      "the same keys, and a dividing merge higher up has seen to it: it cut its outputs where the largest " +
      "level is cut.",
  ],
  answers: [
    {
      ask: "Why does a full merge need twice the space?",
      answer:
        "Its inputs must stay on disk until the whole output is safe, since a crash in between would lose them. " +
        "The output is about as large as the inputs, so at the end all data is there twice.",
    },
    {
      ask: "Why does Spooky have a dividing merge?",
      answer:
        "To let the largest merge run in pieces. The dividing merge writes the upper levels into level X, and cuts " +
        "its output at the same keys as the tables of the largest level. After that, each table of the largest " +
        "level and the tables above it with the same bounds are merged by themselves, one group after another, and " +
        "each group frees its inputs before the next. So only one group is held twice rather than the whole level.",
    },
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
      "cuts for them. In the example partial merges hold least, 1.41 times the live data " +
      "against Spooky's 1.50, one small merge " +
      "after the other; what speaks for Spooky there is only that it writes less, 64 MiB against 78. Here " +
      "leveled holds more than Spooky: its four workers merge at once, and each " +
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
