/** Technical terms of this page, each with a definition. */

export const GLOSSARY = {
  table: "A file of sorted keys. It never changes; a merge replaces it.",
  run: "Tables in key order, with no key in two of them. A read looks into each run.",
  memtable: "The newest writes, sorted in memory until there are enough for a run.",
  log: "The newest writes in order on disk, to replay them after a crash.",
  level: "Runs of about the same age. Deeper levels are older and larger.",
  flush: "A full memtable is written as a new run of level 0.",
  merge:
    "Tables that overlap are read and written as one run, with the newest version of each key.",
  move:
    "A table that overlaps no other of its compaction goes down a level as it is, and no byte is written: a " +
    "trivial move. PTierDB moves tables that overlap as well, as runs of their own.",
  group: "Tables of a compaction that one job merges or moves. They change level all at once.",
  compaction: "One decision of the policy: groups of tables that move down.",
  admission: "Runs of level 0, about a buffer together, that one plan moves down.",
  "level X":
    "The level in which Spooky's dividing merges end, two above the largest unless set otherwise. From X on, " +
    "levels are cut at the same keys as the largest, so that merges into it go piece by piece.",
  "dividing merge":
    "A merge whose outputs are cut at the same keys as the largest level, so that later merges share the cuts.",
  "held twice": "Bytes that are on disk as inputs and as outputs, until the merge is done.",
  "brought down": "Bytes that were read in a higher level than the one they were written to.",
  tombstone: "An entry that says that its key is deleted, until older versions of it are gone.",
  snapshot:
    "A view of the store as it was at one moment. What it shows is kept until it is closed.",
  block: "A part of a table, a few KiB, which is read as a whole.",
  filter: "A few bits for each key of a table, which say that a key is not there, or may be.",
  "false positive":
    "A filter that says maybe for a key that is not there: a block is read for nothing.",
  sync: "The system puts what was written to a file on the device. Until then a power failure may take it.",
  "write stall": "Writes wait until a flush or a merge has made room.",
  debt: "Bytes that must still be merged before no level is over its limit.",
  leveling: "A level is one run, with which whatever arrives is merged.",
  tiering: "A level collects several runs, which are merged once, on their way down.",
  prefix: "The first bytes of a key, such as the customer in customer/order.",
  partitioner: "The rule for the keys at which outputs are cut into tables.",
  counter: "The number of admissions or merges until a level is merged.",
  bucket: "A range of keys of level 0, which is merged by a job of its own.",
  temperature:
    "How busy a bucket is: its share of recent flushes, times the number of buckets at the start, which stays the " +
    "same when buckets are split or joined. 1 is an equal share.",
} as const;

/** A word that is explained. */
export type Word = keyof typeof GLOSSARY;
