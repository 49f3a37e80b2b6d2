/** The words of this page that only readers of papers know, each in a sentence. */

export const GLOSSARY = {
  table: "A file of sorted keys. It is never changed: a merge replaces it.",
  run: "Tables side by side, in key order: no key is in two of them. A read looks into each run.",
  level: "Runs of about the same age. The deeper, the older and the larger.",
  flush: "Memory that is full becomes a new run of level 0.",
  merge:
    "Tables that overlap are read and written as one run: of each key the newest version is kept.",
  move: "A table that overlaps nothing below goes there as it is: nothing is rewritten.",
  group:
    "Tables of a compaction that are merged, or moved, together: one job, in effect as a whole.",
  compaction: "What the policy decides at once: groups of tables that go down.",
  admission: "Runs of level 0, about a buffer together, that go down in one plan.",
  "dividing merge":
    "A merge whose outputs are cut where the largest level is, so that later merges share these cuts.",
  "held twice": "Bytes that are on disk as inputs and as outputs, until the merge is done.",
  "brought down": "Bytes that were read in a higher level than the one they were written to.",
  tombstone: "An entry that says that its key is deleted, until older versions of it are gone.",
} as const;

/** A word that is explained. */
export type Word = keyof typeof GLOSSARY;
