/** The chapter on a power failure. */

import type { Chapter } from "../chapter.ts";
import { survivors } from "../crash-store.ts";
import Crash from "../figures/Crash.svelte";

/** The chapter. */
export const crash: Chapter = {
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
  answers: [
    {
      ask: "What does a power failure take?",
      answer:
        "Only the newest writes: those after the last sync. What was synced stays, and so does all that was " +
        "written before it. Of the writes after the last sync any number may be lost, always the newest of them, " +
        "and no write is left in part.",
    },
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
};
