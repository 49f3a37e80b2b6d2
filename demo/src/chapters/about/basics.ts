/** The chapter on LSM trees. */

import type { Chapter } from "../chapter.ts";
import { placesOfDeletedKey } from "../engine.ts";
import Basics from "../figures/Basics.svelte";
import { sized } from "../measure.ts";

/** The chapter. */
export const basics: Chapter = {
  id: "basics",
  name: "LSM trees",
  title: "Where is the newest fern?",
  hook: [
    "A log-structured merge tree never changes data in place. Writes go to a memtable in " +
      "memory and to a log; a full memtable is flushed to a sorted, immutable table on disk. " +
      "Compactions merge tables into new ones, further down. So one key can be in many places, " +
      "each with a different version.",
    "Newer data always lies above older data: memtables over level 0, level 0 over level 1, " +
      "and so on down. A read asks from the top, and stops at the first place that has the " +
      "key. The newest version of a deleted key is a tombstone, which hides those below it.",
  ],
  answers: [
    {
      ask: "What is an LSM tree?",
      answer:
        "A store that never changes data in place. Writes gather in a memtable; a full one is written as a sorted " +
        "file, a table, into level 0. Merges combine tables into fewer and larger ones in deeper levels, and drop " +
        "the versions that newer ones replaced.",
    },
    {
      ask: "Where does a read find the newest version of a key?",
      answer:
        "In the first place that has the key, from the top: memtable, level 0, level 1, and so on down. Newer data " +
        "always lies above older data, so the read stops there.",
    },
  ],
  figure: Basics,
  watch: { settings: sized({ policy: "leveled" }), sights: ["newest"] },
  lesson: "Newer lies above; the first hit wins, even if it says that the key is deleted.",
  question: {
    ask:
      "The engine now runs in this page, on a store in memory: fern is put and compacted " +
      "down, put again and flushed, then deleted. How many places does a get of fern ask? And " +
      "once the tombstone has been flushed to level 0 as well?",
    unit: "places",
    digits: 0,
    predictions: [
      { name: "tombstone in the memtable", measure: placesOfDeletedKey(false) },
      { name: "tombstone flushed", measure: placesOfDeletedKey(true) },
    ],
    hint:
      "Who expects more places thinks that a get collects all versions and takes the newest. It asks the " +
      "newest place first, and stops at the first version that it finds, be it a tombstone.",
    after:
      "In memory, the tombstone is the first place asked, and the last. Once it is flushed, the " +
      "empty memtable is asked before it. The older versions stay on disk, unread, until a " +
      "compaction drops them: an LSM tree deletes by writing.",
    scale:
      "Three versions of one key keep the example small; a large store has more places to ask.",
  },
  reference:
    "P. O'Neil, E. Cheng, D. Gawlick, E. O'Neil: The Log-Structured Merge-Tree (LSM-Tree). " +
    "Acta Informatica 33 (1996).",
};
