/** The chapters: each explains one idea on its paper's own example, and ends in a question. */

import type { Component } from "svelte";
import Basics from "./figures/Basics.svelte";
import Crash from "./figures/Crash.svelte";
import Buckets from "./figures/Buckets.svelte";
import Dividing from "./figures/Dividing.svelte";
import Horizontal from "./figures/Horizontal.svelte";
import Levels from "./figures/Levels.svelte";
import MoveOrMerge from "./figures/MoveOrMerge.svelte";
import Partitions from "./figures/Partitions.svelte";
import {
  groupsPerCompaction,
  type Measured,
  peakSpace,
  simulated,
  waiting,
  writing,
} from "./measure.ts";
import type { Settings } from "../source/settings.ts";
import { choose } from "./choose.ts";
import { survivors } from "./crash-store.ts";
import { placesOfDeletedKey } from "./engine.ts";

/** One thing that the reader predicts, and that is then measured. */
export interface Prediction {
  name: string;
  measure: () => Promise<Measured>;
  /** The recording that is measured, if it is a simulation. */
  settings?: Settings;
}

/** A chapter. */
export interface Chapter {
  id: string;
  /** Its subject, in the list of chapters. */
  name: string;
  /** The question that it starts with. */
  title: string;
  /** Knowledge needed before the example. */
  hook: string[];
  /** The paper's example, to be tried. */
  figure: Component;
  /** Lesson of the example, in one sentence to keep. */
  lesson: string;
  question: {
    ask: string;
    unit: string;
    digits: number;
    predictions: Prediction[];
    /** The usual misconception, for guesses that are off. */
    hint: string;
    /** Points to look at in the result. */
    after: string;
    /** Choice of the settings, and so the reach of the figures. */
    scale: string;
    /** Something else to try, on a recording with a change. */
    vary?: { say: string; settings: Partial<Settings> };
  };
  /** The folder of docs/papers that has the paper's own figures. */
  report?: string;
  reference: string;
}

/** Choice of the settings of most questions. */
const SMALL =
  "The settings are chosen to show the effect at a small scale, in seconds: 300,000 updates of 100,000 " +
  "keys with values of 1 KiB, at 20,000 a second; memtables and tables of 4 MiB, T = 5. The order holds " +
  "for them; the figures are no forecast for a store of another size.";

/** More writes than one worker can merge. */
const BUSY: Partial<Settings> = { rate: 100_000, operations: 400_000, device: "nvme", workers: 8 };
/** The same, most of them of late keys, for as long as buckets need to settle. */
const HOT: Partial<Settings> = {
  ...BUSY,
  operations: 1_000_000,
  workload: "hot",
  policy: "bucket",
};
/** Least bytes of a part at flushes, small enough that flushes are cut as well. */
const FLUSH_FLOOR = 1 << 18;
/** Buckets that stay as they are. */
const FIXED = { splitPercent: 100_000, joinPercent: 0, buckets: 8, minBuckets: 8 };

/** All chapters, in the order in which they are best read. */
export const CHAPTERS: readonly Chapter[] = [
  {
    id: "basics",
    name: "LSM trees",
    title: "Where is the newest fern?",
    hook: [
      "A log-structured merge tree never changes data in place. Writes go to a memtable in " +
        "memory and to a log; a full memtable is flushed to a sorted, immutable table on disk. " +
        "So one key can be in many places, each with a different version.",
      "Newer data always lies above older data: memtables over level 0, level 0 over level 1, " +
        "and so on down. A read asks from the top, and stops at the first place that has the " +
        "key. A deleted key has a version, too: a tombstone, which hides those below it.",
    ],
    figure: Basics,
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
  },
  {
    id: "crash",
    name: "A crash",
    title: "What is left when the power fails?",
    hook: [
      "A write goes to the log before it goes to the memtable, so that it can be replayed " +
        "from there. But a write to a file is not on disk yet: the system keeps it in memory " +
        "until the file is synced. A sync costs milliseconds, so most writes are buffered, and " +
        "one sync makes all of them durable together.",
      "When the power fails, what was not synced may be gone. What an engine promises is an " +
        "order: if a write is there after the crash, so are all before it, and no write is " +
        "there in part.",
    ],
    figure: Crash,
    lesson: "A sync makes everything before it durable; after it, you bet on the power.",
    question: {
      ask:
        "Ten puts of ten keys, on this browser's files, then the power fails. How many keys are " +
        "left if only the sixth put is synced? If each is? If none is?",
      unit: "of 10 keys",
      digits: 0,
      predictions: [
        { name: "the sixth is synced", measure: survivors((put) => put === 6) },
        { name: "each is synced", measure: survivors(() => true) },
        { name: "none is synced", measure: survivors(() => false) },
      ],
      hint:
        "Who expects one key for the sixth thinks that a sync is of one write. It is of a file: of the log, with " +
        "all writes before.",
      after:
        "The sync of the sixth put covers the five before it: they are in the same log. The last " +
        "four were only buffered. Recovery reads the log up to the first record that is not " +
        "whole, which its checksums show.",
      scale: "Ten small writes are easy to count; the rule is the same for any number of them.",
    },
    reference:
      "C. Mohan, D. Haderle, B. Lindsay, H. Pirahesh, P. Schwarz: ARIES: A Transaction " +
      "Recovery Method Supporting Fine-Granularity Locking and Partial Rollbacks Using " +
      "Write-Ahead Logging. ACM TODS 17 (1992).",
  },
  {
    id: "levels",
    name: "Leveling or tiering",
    title: "Can one tree write least and read least?",
    hook: [
      "Every level is T times as large as the one above. Under leveling a level is one run: " +
        "whatever comes down is merged with what is there, so each entry is rewritten some T/2 " +
        "times in every level. Under tiering a level collects up to T − 1 runs, and they are " +
        "merged once, on their way down.",
      "Fewer runs are good for reads, which may have to look into each; fewer merges are good " +
        "for writes. Lazy leveling keeps a single run only in the largest level, where almost all " +
        "data is.",
    ],
    figure: Levels,
    lesson: "You do not avoid the cost of order; you choose whom to charge.",
    question: {
      ask:
        "Uniform updates, simulated with T = 5, slowly enough for every policy to keep up. How many " +
        "bytes does each write to tables for each byte that it accepts?",
      unit: "written per byte",
      digits: 1,
      predictions: [
        { name: "leveled-full", ...simulated({ policy: "leveled-full" }, writing) },
        { name: "lazy-leveled", ...simulated({ policy: "lazy-leveled" }, writing) },
        { name: "tiered-full", ...simulated({ policy: "tiered-full" }, writing) },
      ],
      hint:
        "Who orders by the number of runs thinks that a run costs a write. A run costs reads; what costs writes " +
        "is each merge that a run is spared.",
      after:
        "The order is the model's. The figures differ from it: a flush counts as a write here, " +
        "and a small tree is never full in all of its levels.",
      scale: SMALL,
      vary: {
        say: "T = 10: leveling has fewer levels, and merges more often in each",
        settings: { policy: "leveled-full", parameters: { sizeRatio: 10 } },
      },
    },
    reference:
      "N. Dayan, S. Idreos: Dostoevsky: Better Space-Time Trade-Offs for LSM-Tree Based " +
      "Key-Value Stores via Adaptive Removal of Superfluous Merging. SIGMOD 2018.",
  },
  {
    id: "partitions",
    name: "Coordinated partitioning",
    title: "Why does one merge take everything?",
    hook: [
      "A compaction can be divided: groups of tables that do not overlap each other can be " +
        "merged in parallel. A table that overlaps nothing at all needs no merge; it is moved.",
      "But overlap chains. If table 1 overlaps table 2 and table 2 overlaps table 3, all " +
        "three belong to one merge, though 1 and 3 have nothing in common. Runs that cut a " +
        "table wherever it is full overlap like bricks in a wall, and the chain runs from end " +
        "to end.",
    ],
    figure: Partitions,
    lesson: "Tables cut at the same keys never chain: agree on the cuts beforehand.",
    question: {
      ask:
        "Universal compaction of uniform updates, simulated: with tables cut by size, by halving " +
        "each run by its own keys, and by halving the whole key space; the latter two at flushes, " +
        "too. How many independent groups does a compaction have on average?",
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
        "nothing to do; halves of each run's own keys agree by chance, those of the key space " +
        "always. A group of one table would move without being rewritten; uniform updates leave " +
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
  },
  {
    id: "horizontal",
    name: "Horizontal growth",
    title: "When should runs be merged?",
    hook: [
      "A tree can grow sideways: it keeps its number of levels, and their capacities grow " +
        "with the data. Then the question is when to merge. Suppose 60 MB arrive in runs of 10 " +
        "MB, with one lookup per megabyte, and you may merge level 1 into a run of level 2 three " +
        "times, the last time at the end.",
      "A lookup asks every run that is there. Merge early, and the new run of level 2 is " +
        "asked from then on; merge late, and level 1 piles up.",
    ],
    figure: Horizontal,
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
        "Counting admissions writes less: its merges are large, and few and far between. Open the " +
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
  },
  {
    id: "spooky",
    name: "Spooky",
    title: "How full can a disk be before a merge no longer fits?",
    hook: [
      "A merge keeps its inputs until its outputs are safe on disk. What matters is not only " +
        "how much it writes, but also how much it holds at once.",
      "These are the two largest levels of one tree with T = 4: 16 MiB of updates over 64 MiB " +
        "of live data, on a disk of 100 MiB. Every update replaces a key that is already there. " +
        "The same merge runs in three ways.",
    ],
    figure: Dividing,
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
        "of its groups are freed one by one, from left to right. A dividing merge has cut the " +
        "level marked X for them. In the example partial merges hold least, one small merge after " +
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
  },
  {
    id: "ptier",
    name: "PTierDB",
    title: "Which tables need not move a byte?",
    hook: [
      "Keys often share prefixes: a table name, a user, a sensor. PTierDB cuts tables between " +
        "prefixes and knows which prefixes each one holds. When tables go down a level, only " +
        "those that share a prefix with several others are merged; the rest are moved as they " +
        "are.",
      "The output of a merge is as new as its newest input. That is where care is needed: a " +
        "table that was moved must not end up below data that is older than its own.",
    ],
    figure: MoveOrMerge,
    lesson: "A move is free only if the order of versions survives it.",
    question: {
      ask:
        "Uniform updates of keys with 48 prefixes, simulated. How many bytes are written to " +
        "tables for each byte accepted?",
      unit: "written per byte",
      digits: 1,
      predictions: [
        {
          name: "leveled",
          ...simulated({ policy: "leveled", workload: "prefixes" }, writing),
        },
        { name: "tiered", ...simulated({ policy: "tiered", workload: "prefixes" }, writing) },
        { name: "ptier", ...simulated({ policy: "ptier", workload: "prefixes" }, writing) },
      ],
      hint:
        "Who expects PTierDB to write less than tiering takes a move for a saving against it. Both write most " +
        "entries once a level; what moves save is rewriting, as leveling does it.",
      after:
        "PTierDB writes about as little as tiering, and also gains tables of a single prefix: " +
        "look for the solid caps in the deeper levels.",
      scale: SMALL,
      vary: {
        say: "prefixes of one byte instead of two",
        settings: { policy: "ptier", workload: "prefixes", parameters: { prefixLength: 1 } },
      },
    },
    reference:
      "L. Liu, K. Zhou: PTierDB: Building Better Read-Write Cost Balanced Key-Value Stores " +
      "for Small Data on SSD. Closing the set is our addition: under the rule as printed, an " +
      "old version resurfaces.",
    report: "ptierdb",
  },
  {
    id: "bucket",
    name: "BucketLSM",
    title: "Four workers, and only one is busy. Why?",
    hook: [
      "Everything passes through level 0. Its tables overlap each other, so they are merged " +
        "into level 1 by one job at a time, and writes wait for it however many workers there " +
        "are.",
      "BucketLSM cuts level 0 into key ranges, which are merged in parallel. Equal ranges are " +
        "of no use when all writes go to one of them. So each bucket has a temperature: its " +
        "share of what was flushed lately, divided by a fair share.",
    ],
    figure: Buckets,
    lesson: "Cut where the writes are, not where the keys are.",
    question: {
      ask:
        "100,000 writes a second with eight workers on a fast device, simulated: first 400,000 of " +
        "keys spread evenly, then 1,000,000, most of them of late keys. For how many seconds do " +
        "writes wait in all?",
      unit: "seconds",
      digits: 1,
      predictions: [
        { name: "leveled, even", ...simulated({ ...BUSY, policy: "leveled" }, waiting) },
        { name: "bucket, even", ...simulated({ ...BUSY, policy: "bucket" }, waiting) },
        {
          name: "fixed buckets, late keys",
          ...simulated({ ...HOT, parameters: FIXED }, waiting),
        },
        { name: "bucket, late keys", ...simulated(HOT, waiting) },
      ],
      hint:
        "Who expects fixed buckets to help divides the keys. The writes are what waits, and all of them fall into " +
        "one bucket, which one worker merges.",
      after:
        "With even keys each worker has a bucket of its own, and the stalls behind the one merge " +
        "of level 0 nearly vanish. Late keys all fall into one of eight buckets. Open the last " +
        "recording: cold buckets are joined, the hot one rises over the rule at 2 and is split " +
        "again and again; a split affects only later flushes, so writes wait until none is above " +
        "the rule, and hardly ever from then on.",
      scale:
        "The settings are chosen to make the bottleneck plain within seconds: updates of 100,000 keys " +
        "with values of 1 KiB, memtables and tables of 4 MiB. A bucket has few tables, and settles " +
        "within a few flushes; in a large store both take longer.",
      vary: {
        say: "a hot range that shifts: splits come late again and again",
        settings: { ...BUSY, policy: "bucket", workload: "shifting" },
      },
    },
    reference:
      "J. Park, K. Min, S. Byeon, T. Noh, H. Park, X. He, H.-Y. Kim, Y. Kim: BucketLSM: " +
      "Breaking the Compaction Scalability Barrier in LSM-Based Key-Value Stores.",
    report: "bucketlsm",
  },
  choose,
];

/** A chapter by its id. */
export function chapterOf(id: string): Chapter | undefined {
  return CHAPTERS.find((chapter) => chapter.id === id);
}
