/** Technical terms of this page, each with a definition. */

export const GLOSSARY = {
  table: "A file of sorted keys. It never changes; a merge replaces it.",
  run: "Tables in key order, with no key in two of them. A read looks into each run.",
  level: "Runs of about the same age. Deeper levels are older and larger.",
  flush: "A full memtable is written as a new run of level 0.",
  merge:
    "Tables that overlap are read and written as one run, with the newest version of each key.",
  move: "A table that overlaps nothing in the level below becomes part of it, without being rewritten.",
  group: "Tables of a compaction that one job merges or moves. They change level all at once.",
  compaction: "One decision of the policy: groups of tables that move down.",
  admission: "Runs of level 0, about a buffer together, that one plan moves down.",
  "dividing merge":
    "A merge whose outputs are cut at the same keys as the largest level, so that later merges share the cuts.",
  "held twice": "Bytes that are on disk as inputs and as outputs, until the merge is done.",
  "brought down": "Bytes that were read in a higher level than the one they were written to.",
  tombstone: "An entry that says that its key is deleted, until older versions of it are gone.",
} as const;

/** A word that is explained. */
export type Word = keyof typeof GLOSSARY;
