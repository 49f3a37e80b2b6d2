/** The chapter on BucketLSM. */

import type { Chapter } from "../chapter.ts";
import Buckets from "../figures/Buckets.svelte";
import { simulated, sized, waiting } from "../measure.ts";
import type { Settings } from "../../source/settings.ts";

/** More writes than one worker can merge. */
const BUSY: Partial<Settings> = { rate: 100_000, operations: 400_000, device: "nvme", workers: 8 };
/** The same, most of them of late keys, for as long as buckets need to settle; split once empty, as the paper says. */
const HOT: Partial<Settings> = {
  ...BUSY,
  operations: 1_000_000,
  workload: "hot",
  policy: "bucket",
  parameters: { onlyEmpty: true },
};
/** Buckets that stay as they are. */
const FIXED = { splitPercent: 100_000, joinPercent: 0, buckets: 8, minBuckets: 8 };

/** The chapter. */
export const bucket: Chapter = {
  id: "bucket",
  name: "BucketLSM",
  title: "Four workers, and only one is busy. Why?",
  hook: [
    "Everything passes through level 0. Its tables overlap each other, so they are merged " +
      "into level 1 by one job at a time, and writes wait for it however many workers there " +
      "are.",
    "BucketLSM cuts level 0 into key ranges, the buckets, which are merged in parallel. It starts with N of " +
      "them, as many as workers. Equal ranges are of no use when all writes go to one of them. So each bucket " +
      "has a temperature: its share of the bytes of the last ten flushes, times N. If N is 4, a bucket that " +
      "received half of the bytes has a temperature of 2.",
    "Above 2 a bucket is split in the middle of its keys, and each half counts half of its bytes; at 0.5 or below " +
      "it is joined with its colder neighbour. So busy ranges get more buckets, and more workers. N stays as it " +
      "is while buckets are split and joined: with eight workers a bucket that receives everything has a " +
      "temperature of 8, even if only two buckets are left. Were it the present number, the hotter of two buckets " +
      "could not rise above 2, and would never be split.",
  ],
  answers: [
    {
      ask: "What splits a bucket?",
      answer:
        "Its temperature: more than twice an equal share of the bytes of the last ten flushes. An equal share is one " +
        "of N parts, where N is the number of buckets at the start, however many there are later. If N is 4, " +
        "it is a quarter, so a bucket that received more than half is split, at the middle of its keys. One at " +
        "half an equal share or below is joined with its colder neighbour.",
    },
  ],
  figure: Buckets,
  watch: { settings: sized(HOT), sights: ["split"] },
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
      "recording: cold buckets are joined, the hot one rises above the line at 2 and is split " +
      "again and again; a split affects only later flushes, so writes wait until none is above " +
      "the line, and hardly ever from then on.",
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
};
