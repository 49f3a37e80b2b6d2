// Generated from the policies' descriptions in Rust; see crates/wasm/tests/contract/policies.rs.

/** Compaction policies and their parameters. */

/** One run a level, one table at a time into the next: few runs to read and little space lost, for more writing. */
export interface Leveled {
  policy: "leveled";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 10. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** The table of a level over its capacity that goes down. Default: "least-overlap". */
  pick?: "least-overlap" | "oldest" | "round-robin" | "random";
  /** Seed of random picks. From 0 to 9007199254740991. Default: 0. */
  seed?: number;
  /** Most workers that share a merge of level 0 into level 1. From 1 to 256. Default: 1. */
  maxSubcompactions?: number;
  /** Whether level 0 goes into a second run of level 1 while tables of the first go down. Default: false. */
  pipelined?: boolean;
  /** Whether runs are merged within level 0 while a merge below keeps them waiting. Default: true. */
  mergeWaiting?: boolean;
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** One run a level; one merge takes everything down to the first level with room for it: less writing than table by table, but much temporary space. */
export interface LeveledFull {
  policy: "leveled-full";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
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
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Several runs a level, everything above the level that holds it in one merge: least writing, for more runs to read and more space. */
export interface TieredFull {
  policy: "tiered-full";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 1. */
  l0CompactionTrigger?: number;
}

/** The largest level is one run, the others have several: nearly the writing of tiering at nearly the space of leveling. */
export interface LazyLeveled {
  policy: "lazy-leveled";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** Number of the largest levels that are leveled. From 1 to 64. Default: 1. */
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
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Full merges above, and below merges of one file with those that overlap it exactly: nearly the writing of full merges at nearly the space of small ones. */
export interface Spooky {
  policy: "spooky";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 5. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 1073741824. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Number of levels below the one that is cut at the files of the largest. From 0 to 8. Default: 2. */
  levelsBelow?: number;
  /** Number of the largest levels that are leveled. From 0 to 64. Default: 64. */
  leveledLevels?: number;
  /** Whether a file that comes alone to a level below that one is moved, not rewritten. Default: true. */
  trivialMoves?: boolean;
}

/** Several runs a level, a table at a time merged into the next with those of its level that overlap it: tiering without large merges. In the build with all policies. */
export interface TieredPartial {
  policy: "tiered-partial";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 4. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
}

/** A fixed number of levels, each one run, which grow with the data: least writing for this number of runs, for large merges. In the build with all policies. */
export interface HorizontalLeveling {
  policy: "horizontal-leveling";
  /** Number of levels below level 0, however much the tree holds. From 1 to 16. Default: 3. */
  levels?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** A fixed number of levels of several runs, merged ever more often as data comes near what was declared: least reading for tiering's writing. The last level's runs are never merged. In the build with all policies. */
export interface HorizontalTiering {
  policy: "horizontal-tiering";
  /** Number of levels below level 0, however much the tree holds. From 1 to 16. Default: 3. */
  levels?: number;
  /** Bytes that the tree is going to hold; 0 for what it holds. From 0 to 1125899906842624. Default: 0. */
  dataBytes?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Horizontal growth above two levels that are merged table by table, tuned to the reads and writes that it sees: good writing and reading without large merges. In the build with all policies. */
export interface Vertiorizon {
  policy: "vertiorizon";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 6. */
  sizeRatio?: number;
  /** Buffers that the horizontal part holds at first; 0 for as many as the data needs. From 0 to 1073741824. Default: 0. */
  buffers?: number;
  /** Bytes that the tree is going to hold; 0 for what it holds. From 0 to 1125899906842624. Default: 0. */
  dataBytes?: number;
  /** Levels of the horizontal part; 0 for what costs least. From 0 to 16. Default: 0. */
  levels?: number;
  /** Whether levels of the horizontal part are one run or several. Default: "tuned". */
  mergePolicy?: "tuned" | "leveling" | "tiering";
  /** Whether the two levels below it are one run or several; tuned only where it is known what reads and merges cost, and leveling until then. Default: "leveling". */
  verticalMergePolicy?: "tuned" | "leveling" | "tiering";
  /** Most recent operations that tuning considers. From 1024 to 1099511627776. Default: 1048576. */
  windowOperations?: number;
  /** Whether a leveled horizontal part cascades less often where the same keys are rewritten. Default: false. */
  skew?: boolean;
  /** Whether it replaces the tiered levels of lazy leveling, above one leveled level; levels, merge-policy and vertical-merge-policy then do not count. Default: false. */
  backbone?: boolean;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
}

/** A stack of runs that grows slowly to its limit: fewer runs to read than minlatency while small. In the build with all policies. */
export interface Binomial {
  policy: "binomial";
  /** Runs that the stack has at most. From 1 to 64. Default: 4. */
  components?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** A stack with a limit on runs, merged on the schedule that writes least. In the build with all policies. */
export interface Minlatency {
  policy: "minlatency";
  /** Runs that the stack has at most. From 1 to 64. Default: 4. */
  components?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Cuts of outputs into tables, and of inputs into groups. Default: "default". */
  partitioner?: "default" | "none" | "size" | "local-range" | "local-range-by-group" | "global-range";
  /** Share of target-file-bytes, in percent, up to which a partitioner puts neighbours together. From 0 to 100. Default: 0. */
  partitionJoinPercent?: number;
  /** The least key of the space that global-range halves, in hexadecimal digits. Default: "". */
  domainLeast?: string;
  /** The greatest key of that space, in hexadecimal digits; empty for no end. Default: "". */
  domainGreatest?: string;
  /** Bytes below which neighbouring partitions of a flush stay together; 0 for whole flushes; needs a range partitioner. From 0 to 1099511627776. Default: 0. */
  flushFloorBytes?: number;
  /** Most groups of a compaction that run at once; 0 keeps the policy's order. From 0 to 255. Default: 0. */
  subcompactions?: number;
}

/** Leveling below a level 0 in key-range buckets that are compacted in parallel: busy workers and few stalls, even when the hot keys shift. In the build with all policies. */
export interface Bucket {
  policy: "bucket";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 10. */
  sizeRatio?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Tables of a bucket in level 0 that lie over one key before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Whether capacities follow what the deepest level holds. Default: true. */
  dynamicLevelBytes?: boolean;
  /** Buckets of level 0 at first. From 1 to 256. Default: 4. */
  buckets?: number;
  /** Whether to start with one bucket per worker if that is more than buckets. Default: true. */
  followWorkers?: boolean;
  /** Flushes that the temperature of a bucket is measured over. From 1 to 64. Default: 10. */
  windowFlushes?: number;
  /** Temperature above which a bucket is split, in percent of a fair share. From 1 to 100000. Default: 200. */
  splitPercent?: number;
  /** Temperature up to which a bucket is joined with its colder neighbour, in percent. From 0 to 100000. Default: 50. */
  joinPercent?: number;
  /** Least number of buckets that joining leaves. From 1 to 256. Default: 1. */
  minBuckets?: number;
  /** Whether buckets are joined that would be hot enough to be split. Default: false. */
  joinHot?: boolean;
  /** Whether a fair share is 1 / the current number of buckets, not 1 / the first. Default: false. */
  countPresent?: boolean;
  /** Whether only buckets that hold no table of level 0 are split and joined. Default: false. */
  onlyEmpty?: boolean;
  /** Whether tables of a bucket are merged within level 0 while a merge below keeps them waiting. Default: false. */
  mergeWaiting?: boolean;
  /** Whether level 1 sends nothing down while a bucket that is due has to wait. Default: true. */
  levelOneWaits?: boolean;
  /** Whether all buckets are due once one is. Default: false. */
  eager?: boolean;
  /** Weight of what a bucket overlaps in level 1 in the choice of the next one, in percent; the rest is that of its tables. From 0 to 100. Default: 0. */
  overlapPercent?: number;
}

/** Tiering with tables split between key prefixes, which move down where they need not be merged; what is read often is merged in the deepest level (PTierDB). In the build with all policies. */
export interface Ptier {
  policy: "ptier";
  /** Capacity of a level divided by that of the level above. From 2 to 64. Default: 10. */
  sizeRatio?: number;
  /** Capacity of level 1, in bytes. From 1024 to 1099511627776. Default: 10485760. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed, even within a prefix. From 1024 to 1099511627776. Default: 67108864. */
  targetFileBytes?: number;
  /** Least bytes of a table that ends between two prefixes, and of what follows it. From 1 to 1099511627776. Default: 4194304. */
  splitBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Runs that wait in level 0 before they are merged. From 1 to 64. Default: 4. */
  l0CompactionTrigger?: number;
  /** Length of the prefix of a key, in bytes; 0 with a delimiter, which implies it. From 0 to 1024. Default: 4. */
  prefixLength?: number;
  /** Byte with which the prefix of a key ends, in hexadecimal digits; empty for a prefix length. Default: "". */
  prefixDelimiter?: string;
  /** Reads of a table of the deepest level above which it is merged with those that it overlaps. From 1 to 1125899906842624. Default: 10000. */
  readLimit?: number;
}

/** A size ratio and a bound on runs for each level: from leveling over lazy leveling to a bush, or what a mix of operations needs. In the build with all policies. */
export interface Fluid {
  policy: "fluid";
  /** Ratios and runs of levels: as given below; lazy leveling; a bush, whose ratios are squared from level to level; or tuned to the mix below. Default: "given". */
  design?: "given" | "lazy-leveling" | "bush" | "tuned";
  /** Size ratio of lazy leveling, and of the two largest levels of a bush. From 2 to 64. Default: 4. */
  designRatio?: number;
  /** Capacity of each level divided by that of the level above, from level 1 on; the last repeats. Each from 2 to 256, with spaces between. Default: "4". */
  sizeRatios?: string;
  /** Runs of each level but the largest, from level 1 on; the last repeats. Each from 1 to 256, with spaces between. Default: "2". */
  runs?: string;
  /** Runs of the largest level. From 1 to 256. Default: 1. */
  largestRuns?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
  /** Bytes that a bush or a tuned tree is made for. From 0 to 1125899906842624. Default: 0. */
  dataBytes?: number;
  /** Share of reads that find a key. From 0 to 1000. Default: 25. */
  reads?: number;
  /** Share of reads of keys that are not there. From 0 to 1000. Default: 0. */
  missingReads?: number;
  /** Share of short scans. From 0 to 1000. Default: 0. */
  scans?: number;
  /** Share of writes. From 1 to 1000. Default: 75. */
  writes?: number;
  /** Bytes of an entry, for tuning. From 1 to 1048576. Default: 1024. */
  entryBytes?: number;
  /** Filter bits of a key, for tuning. From 0 to 64. Default: 10. */
  filterBits?: number;
  /** Cost of a page that is merged, in percent of a block that is read at random, for tuning. From 1 to 1000. Default: 100. */
  pagePercent?: number;
}

/** Runs above one large level. Dynamic programming chooses the merges that cost least for observed reads and writes. In the build with all policies. */
export interface Ecotune {
  policy: "ecotune";
  /** Least size of the last level divided by that of the runs above it. From 1 to 64. Default: 4. */
  sizeRatio?: number;
  /** Most recent operations for which merges are decided. From 1024 to 1099511627776. Default: 1048576. */
  windowOperations?: number;
  /** Cost of a page that is merged, in percent of a block that is read at random, where they are not measured. From 1 to 1000. Default: 100. */
  pagePercent?: number;
  /** Least bytes of level 0 that are compacted at once, and the unit of capacities. From 1024 to 1099511627776. Default: 4194304. */
  levelBaseBytes?: number;
  /** Bytes at which a table is closed. From 1024 to 1099511627776. Default: 2097152. */
  targetFileBytes?: number;
  /** Division of filter memory among runs: uniform, the same bits per key; monkey, more for smaller runs; dynamic, monkey for the sizes that runs are going to have. Default: "uniform". */
  filters?: "uniform" | "monkey" | "dynamic";
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
  | Bucket
  | Ptier
  | Fluid
  | Ecotune;

/** A policy, by its name alone or with parameters. */
export type Policy = PolicyOptions["policy"] | PolicyOptions;

/** The policies of the lean build, which is loaded where no other is needed. */
export const LEAN_POLICIES: readonly string[] = [
  "leveled",
  "leveled-full",
  "tiered",
  "tiered-full",
  "lazy-leveled",
  "universal",
  "spooky",
];
