/** The chapter on deletes. */

import type { Chapter } from "../chapter.ts";
import Tombstones from "../figures/Tombstones.svelte";
import { simulated, sized, tombstonesLeft } from "../measure.ts";
import type { Settings } from "../../source/settings.ts";

/** Updates and deletes. */
const DELETING: Partial<Settings> = { workload: "deletes" };

/** The chapter. */
export const deletes: Chapter = {
  id: "deletes",
  name: "Deletes and tombstones",
  title: "When may a tombstone go?",
  hook: [
    "Tables never change, so a delete cannot take a key out of them. It writes a tombstone, which lies above the " +
      "older versions and hides them. A merge that meets both keeps the tombstone and drops the versions.",
    "The tombstone itself takes space, and scans pass over it. It may go once nothing is left for it to hide: no " +
      "older version in a level below, and no snapshot, an open view of the store, from before the delete.",
  ],
  answers: [
    {
      ask: "Why does a delete write something, and when is it gone?",
      answer:
        "Tables never change, so a delete writes a tombstone that hides the older versions of its key. A merge may " +
        "drop the tombstone once no older version lies below, and no snapshot needs it: mostly in the last level.",
    },
  ],
  figure: Tombstones,
  watch: { settings: sized({ ...DELETING, policy: "leveled" }), sights: ["kept", "dropped"] },
  lesson: "A tombstone may go where nothing older lies below: mostly in the last level, and late.",
  question: {
    ask:
      "Of 300,000 operations 30 % are deletes, the others updates, simulated. For each 100 deletes, how many " +
      "tombstones are left at the end?",
    unit: "tombstones left",
    digits: 1,
    predictions: ["leveled", "lazy-leveled", "tiered"].map((policy) => ({
      name: policy,
      ...simulated({ ...DELETING, policy: policy as Settings["policy"] }, tombstonesLeft),
    })),
    hint:
      "Who expects a tombstone for each delete forgets those that a later update of the key replaced, and those that " +
      "have reached the last level.",
    after:
      "Where the last level is one run, nothing lies below what is merged into it, and tombstones are dropped. Where " +
      "it has several runs, a merge that leaves older ones out must keep the tombstones that hide their versions.",
    scale:
      "300,000 operations on 100,000 keys with values of 1 KiB, at 20,000 a second; memtables and tables of 4 MiB, " +
      "T = 5. A tombstone has no value and takes few bytes; what it hides takes more.",
  },
  reference:
    "S. Sarkar, T. I. Papon, D. Staratzis, M. Athanassoulis: Lethe: A Tunable Delete-Aware LSM Engine. SIGMOD 2020.",
};
