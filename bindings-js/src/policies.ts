/** Compaction policies: the names and parameters that the engine and its command line know. */

import { check } from "./argument.ts";

/** What most policies are tuned by. */
interface Sizes {
  /** How many times the capacity of a level is that of the level above. */
  "size-ratio"?: number;
  /** Bytes that level 0 gathers at least before they go down. */
  "base-bytes"?: number;
  /** Bytes at which a table is closed. */
  "table-bytes"?: number;
}

interface Level0 {
  /** Runs that wait in level 0 before they are merged. */
  "level0-runs"?: number;
}

interface Adapt {
  /** Whether capacities follow what the deepest level holds. */
  adapt?: boolean;
}

/** Leveling with partial compactions. */
export interface Leveled extends Sizes, Level0, Adapt {
  policy: "leveled";
  /** Which table of a level over its capacity goes down. */
  pick?: "least-overlap" | "oldest" | "round-robin" | "random";
  /** What random picks are drawn from. */
  seed?: number;
}

/** Leveling with full, preemptive compactions. */
export interface LeveledFull extends Sizes, Level0, Adapt {
  policy: "leveled-full";
}

/** Tiering with full compactions of one level. */
export interface Tiered extends Sizes {
  policy: "tiered";
}

/** Tiering with full, preemptive compactions. */
export interface TieredFull extends Sizes, Level0 {
  policy: "tiered-full";
}

/** The largest levels leveled, the others tiered. */
export interface LazyLeveled extends Sizes, Level0, Adapt {
  policy: "lazy-leveled";
  /** How many of the largest levels are leveled. */
  "leveled-levels"?: number;
}

/** A stack of runs, of which neighbours of like size are merged. */
export interface Universal {
  policy: "universal";
  /** Runs that stand before anything is merged. */
  "run-trigger"?: number;
  /** By how many percent a run may be larger than all newer ones and still be merged with them. */
  "size-ratio-percent"?: number;
  /** The least number of runs that are merged for the size ratio. */
  "min-merge-width"?: number;
  /** The greatest number of runs that are merged for the size ratio or the count. */
  "max-merge-width"?: number;
  /** Bytes of all runs but the oldest, in percent of the oldest, at which all are merged. */
  "space-percent"?: number;
  /** Bytes at which a table is closed. */
  "table-bytes"?: number;
}

/** Full merges above, and below merges of perfectly overlapping files. */
export interface Spooky extends Sizes, Level0 {
  policy: "spooky";
  /** How many levels lie below the one that dividing merges write. */
  "levels-below"?: number;
  /** How many of the largest levels are leveled. */
  "leveled-levels"?: number;
  /** Whether a file that comes alone to a level below that one is moved, not rewritten. */
  moves?: boolean;
}

/** A policy with its parameters; what is left out has its default. */
export type PolicyOptions =
  Leveled | LeveledFull | Tiered | TieredFull | LazyLeveled | Universal | Spooky;

/** A policy, by its name alone or with parameters. */
export type Policy = PolicyOptions["policy"] | PolicyOptions;

/** A policy as the engine reads it. */
export function packPolicy(policy: Policy): string {
  if (typeof policy === "string") return JSON.stringify({ policy });
  const fits = typeof policy === "object" && policy !== null;
  return JSON.stringify(check("policy", policy, fits, "a name or an object"));
}
