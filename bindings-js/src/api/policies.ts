// Generated from the policies' descriptions in Rust; see crates/wasm/tests/policy_types.rs.

/** Compaction policies and their parameters. */

/** One run a level, one table at a time into the next: few runs to read and little space lost, for more writing. */
export interface Leveled {
  policy: "leveled";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 10. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** Which table of a level over its capacity goes down. Default: "least-overlap". */
  pick?: "least-overlap" | "oldest" | "round-robin" | "random";
  /** What random picks are drawn from. From 0 to 9007199254740991. Default: 0. */
  seed?: number;
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** One run a level, everything down to the level that holds it in one merge: less writing than table by table, for much space while it lasts. */
export interface LeveledFull {
  policy: "leveled-full";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 1. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** Whether a merge takes along the levels that would overflow next. Default: true. */
  preemptive?: boolean;
}

/** Several runs a level, merged all at once into the next: little writing, for more runs to read and more space. */
export interface Tiered {
  policy: "tiered";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Several runs a level, everything above the level that holds it in one merge: least writing, for more runs to read and more space. */
export interface TieredFull {
  policy: "tiered-full";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 1. */
  l0CompactionTrigger?: number;
}

/** The largest level is one run, the others have several: nearly the writing of tiering at nearly the space of leveling. */
export interface LazyLeveled {
  policy: "lazy-leveled";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** How many of the largest levels are leveled. From 1 to 64. Default: 1. */
  leveledLevels?: number;
}

/** A stack of runs, of which neighbours of like age and size are merged: little writing, for much space while everything is merged. */
export interface Universal {
  policy: "universal";
  /** Runs that stand before anything is merged. From 2 to 64. Default: 4. */
  runTrigger?: number;
  /** By how much a run may be larger than all newer ones to be merged with them. From 0 to 1000. Default: 1. */
  sizeRatioPercent?: number;
  /** The least number of runs merged for the size ratio. From 2 to 4294967295. Default: 2. */
  minMergeWidth?: number;
  /** The greatest number of runs merged for the size ratio or the count. From 2 to 4294967295. Default: 4294967295. */
  maxMergeWidth?: number;
  /** Weight of all runs but the oldest, in percent of it, that merges them all. From 1 to 10000. Default: 200. */
  spacePercent?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Full merges above, and below merges of one file with those that overlap it exactly: nearly the writing of full merges at nearly the space of small ones. */
export interface Spooky {
  policy: "spooky";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 1073741824. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** How many levels lie below the one that is cut at the files of the largest. From 0 to 8. Default: 2. */
  levelsBelow?: number;
  /** How many of the largest levels are leveled. From 0 to 64. Default: 64. */
  leveledLevels?: number;
  /** Whether a file that comes alone to a level below that one is moved, not rewritten. Default: true. */
  trivialMoves?: boolean;
}

/** Several runs a level, a table at a time merged into the next with those of its level that overlap it: tiering without large merges. In the build with all policies. */
export interface TieredPartial {
  policy: "tiered-partial";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
}

/** A fixed number of levels, each one run, which grow with the data: least writing for so many runs, for large merges. In the build with all policies. */
export interface HorizontalLeveling {
  policy: "horizontal-leveling";
  /** Levels, whatever the tree holds. From 1 to 16. Default: 3. */
  levels?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** A fixed number of levels of several runs, merged ever more often as data comes near what was declared: least reading for tiering's writing. The last level's runs are never merged. In the build with all policies. */
export interface HorizontalTiering {
  policy: "horizontal-tiering";
  /** Levels, whatever the tree holds. From 1 to 16. Default: 3. */
  levels?: number;
  /** Bytes that the tree is going to hold; 0 for what it holds. From 0 to 1125899906842624. Default: 0. */
  dataBytes?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Horizontal growth above two levels that are merged table by table, tuned to the reads and writes that it sees: good writing and reading without large merges. In the build with all policies. */
export interface Vertiorizon {
  policy: "vertiorizon";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 6. */
  sizeRatio?: number;
  /** Buffers that the horizontal part holds at first; 0 for as many as the data needs. From 0 to 1073741824. Default: 0. */
  buffers?: number;
  /** Bytes that the tree is going to hold; 0 for what it holds. From 0 to 1125899906842624. Default: 0. */
  dataBytes?: number;
  /** Levels of the horizontal part; 0 for what costs least. From 0 to 16. Default: 0. */
  levels?: number;
  /** Whether levels of the horizontal part are one run or several. Default: "tuned". */
  mergePolicy?: "tuned" | "leveling" | "tiering";
  /** Whether the two levels below it are one run or several. Default: "leveling". */
  verticalMergePolicy?: "leveling" | "tiering";
  /** Operations for which the horizontal part is tuned. From 1024 to 1099511627776. Default: 1048576. */
  window?: number;
  /** Whether leveling is merged less often where the same keys are written again. Default: false. */
  skew?: boolean;
  /** Whether it is lazy leveling's tiered part, above one leveled level. Default: false. */
  backbone?: boolean;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
}

/** A stack of runs that grows slowly to its limit: fewer runs to read than minlatency while small. In the build with all policies. */
export interface Binomial {
  policy: "binomial";
  /** Runs that the stack has at most. From 1 to 64. Default: 4. */
  components?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** A stack of at most so many runs, merged when that costs least: least writing for fast reads. In the build with all policies. */
export interface Minlatency {
  policy: "minlatency";
  /** Runs that the stack has at most. From 1 to 64. Default: 4. */
  components?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** How outputs are cut into tables, and inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** How many groups of a compaction a partitioner lets run at once; 0 for any number. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Leveled below a level 0 of buckets, which are merged beside each other: many workers, few stalls, also where the keys that are written shift. In the build with all policies. */
export interface Bucket {
  policy: "bucket";
  /** How many times the capacity of a level is that of the level above. From 2 to 64. Default: 10. */
  sizeRatio?: number;
  /** Bytes that level 0 gathers at least before they go down. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** How filter memory is divided among runs. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Tables that wait in a bucket of level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** Buckets of level 0 at first. From 1 to 256. Default: 4. */
  buckets?: number;
  /** Whether there are at first as many buckets as workers, if these are more. Default: true. */
  followWorkers?: boolean;
  /** Flushes that the temperature of a bucket is measured over. From 1 to 64. Default: 10. */
  window?: number;
  /** Temperature above which a bucket is split, in percent of a fair share. From 1 to 100000. Default: 200. */
  splitPercent?: number;
  /** Temperature up to which a bucket is joined with its colder neighbour, in percent. From 0 to 100000. Default: 50. */
  joinPercent?: number;
  /** Number of buckets down to which they are joined. From 1 to 256. Default: 1. */
  minBuckets?: number;
  /** Whether buckets are joined that would be hot enough to be split. Default: false. */
  joinHot?: boolean;
  /** Whether a fair share is that of the buckets present, not of those at first. Default: false. */
  countPresent?: boolean;
}

/** A policy with its parameters; those left out have their defaults. */
export type PolicyOptions =
  | Leveled
  | LeveledFull
  | Tiered
  | TieredFull
  | LazyLeveled
  | Universal
  | Spooky
  | TieredPartial
  | HorizontalLeveling
  | HorizontalTiering
  | Vertiorizon
  | Binomial
  | Minlatency
  | Bucket;

/** A policy, by its name alone or with parameters. */
export type Policy = PolicyOptions["policy"] | PolicyOptions;

/** The policies of the small build, which is loaded where no other is needed. */
export const LEAN_POLICIES: readonly string[] = [
  "leveled",
  "leveled-full",
  "tiered",
  "tiered-full",
  "lazy-leveled",
  "universal",
  "spooky",
];
