/**
 * The policies as this page offers them: of parameters that are a hundredth of what a large store
 * has, so that some megabytes make a tree of several levels.
 */

import type { Leveled, PolicyOptions } from "terrane";

/** The name of a policy. */
export type PolicyName = PolicyOptions["policy"];

const small = { "size-ratio": 4, "base-bytes": 512 << 10, "table-bytes": 128 << 10 } as const;

/** Each policy with its parameters; what is left out has the engine's default. */
export const presets: { [N in PolicyName]: PolicyOptions & { policy: N } } = {
  leveled: { policy: "leveled", ...small },
  "leveled-full": { policy: "leveled-full", ...small },
  tiered: { policy: "tiered", ...small },
  "tiered-full": { policy: "tiered-full", ...small },
  "lazy-leveled": { policy: "lazy-leveled", ...small },
  universal: { policy: "universal", "table-bytes": small["table-bytes"] },
  spooky: { policy: "spooky", ...small },
};

/** The words that a parameter may be. */
export const choices: Record<string, readonly string[]> = {
  pick: ["least-overlap", "oldest", "round-robin", "random"] satisfies Leveled["pick"][],
};

/** What each does, in one sentence. */
export const summaries: Record<PolicyName, string> = {
  leveled: "One run a level, one table at a time into the next: few runs to read, more writing.",
  "leveled-full": "One run a level, everything down to the level that holds it in one merge.",
  tiered: "Several runs a level, merged all at once into the next: little writing, more to read.",
  "tiered-full": "Several runs a level, everything above the level that holds it in one merge.",
  "lazy-leveled": "The largest level is one run, the others have several.",
  universal: "A stack of runs, of which neighbours of like age and size are merged.",
  spooky: "Full merges above, and below merges of one file with those that overlap it exactly.",
};
