/** The numbers of docs/papers that the chapters show. */

/** A number of a figure: the figure's file, the case, and what was measured. */
export type Cell = readonly [figure: string, name: string, measure: string];

/** A number, or one over another of the same figure. */
export type Source = Cell | { of: Cell; over: Cell };

/** A headline, and the numbers of its ratio. */
export interface ChosenHeadline {
  name: string;
  ours?: readonly Source[];
  changed?: readonly Source[];
  why?: string;
}

/** A case of a panel. */
export interface ChosenCase {
  name: string;
  ours: Cell;
  changed?: Cell;
  /** Name of its configuration. */
  run?: string;
}

/** A figure with one number of each case. */
export interface ChosenPanel {
  title: string;
  by?: string;
  /** File of the configurations of its cases. */
  config?: string;
  cases: readonly ChosenCase[];
}

/** The choice for one chapter. */
export interface Choice {
  /** Designs and workloads that the names stand for. */
  about: string;
  headlines: readonly ChosenHeadline[];
  panels: readonly ChosenPanel[];
  /** Designs of the headlines, with the file and the name of their configurations. */
  runs?: readonly { name: string; config: string; run: string }[];
  again: { config: string; case: string };
}

const THOUSAND = "thousand operations a second";
const OVER_SUBCOMPACTION = "bucket over subcompaction";

/** Returns the ratio of two loads' times, without the switches and with all. */
const switched = (over: string) => ({
  ours: [["switches", "none of the four", over]] as const,
  changed: [["switches", "all four", over]] as const,
});

/** Returns leveled's latency over ptier's in some workloads of YCSB, as in table I and as changed. */
const latencies = (figure: string, changed: string, workloads: readonly string[]) => {
  const of = (figure: string, machine: string) =>
    workloads.map((one): Cell => [
      figure,
      `${machine}, ycsb-${one}`,
      "leveled's latency over ptier's",
    ]);
  return { ours: of("seeks", "as table I"), changed: of(figure, changed) };
};

const writes = (machine: string) => ({
  of: ["seeks", `${machine}, leveled`, "write amplification"] as const,
  over: ["seeks", `${machine}, ptier`, "write amplification"] as const,
});

/** Returns a design of PTierDB's table I. */
const inTable = (name: string, canRun: boolean): ChosenCase => ({
  name,
  ours: ["table-1-figure-7", name, "write amplification"],
  ...(["leveled", "ptier"].includes(name) && {
    changed: ["seeks", `page cache and seeks, ${name}`, "write amplification"] as const,
  }),
  ...(canRun && { run: `table 1 and figure 7, ${name}` }),
});

/** Returns a design of Vertiorizon's figure 7. */
const ranked = (name: string): ChosenCase => ({
  name,
  ours: ["figure-7", `all, ${name}`, "mean rank"],
  changed: ["rocksdb", `tuned by costs, ${name}`, "mean rank"],
  run: `figure 7, uniform 50/50, ${name}`,
});

/** Returns full and partial merges and Spooky, as its figure 6 A compares them. */
const ofSixA = (measure: string): ChosenCase[] =>
  ["full", "partial", "spooky"].map((name) => ({
    name,
    ours: ["figure-6a", `N/B = 5000, ${name}, updates`, measure],
    run: `figure 6 A, N/B = 5000, ${name}`,
  }));

/** Returns designs of a fluid tree, with the values of the closed form. */
const closed = (measure: string): ChosenCase[] =>
  [
    "leveling, T = 10",
    "leveling, T = 4",
    "lazy leveling, T = 10",
    "lazy leveling, T = 4",
    "bush, T = 4",
    "tiering, T = 4",
  ].map((name) => ({
    name,
    ours: ["closed-forms", name, measure],
    run: `closed forms, ${name}`,
  }));

/** Returns the deviation of level-0 merges of `parts` parts, also after the last change that was tried. */
const deviation = (parts: number): ChosenCase => ({
  name: `${parts} parts`,
  ours: ["figure-10", `subcompaction, ${parts}`, "deviation of a level-0 merge, s"],
  changed: [
    "deviations",
    `and storage that writes 1.4 GB/s, subcompaction, ${parts}`,
    "deviation of a level-0 merge, s",
  ],
  run: `figure 10, subcompaction, ${parts}`,
});

const inFigure11 = (mix: string, over: string): Cell => [
  "figures-11-12-14",
  `${mix}, bucket, 80 over ${over}`,
  THOUSAND,
];

/** The numbers of each folder that has a chapter. */
export const CHOICES = {
  fluid: {
    about:
      "A fluid tree has a size ratio T and a number of runs for each level; leveling, lazy leveling, " +
      "tiering and a bush are four of them. Its closed forms say what a tree costs, and simulations what it " +
      "does.",
    headlines: [],
    panels: [
      {
        title: "Writes of an entry by merges: closed form and simulation",
        config: "closed-forms",
        cases: closed("writes of merges"),
      },
      {
        title: "Runs of a tree: closed form and simulation",
        config: "closed-forms",
        cases: closed("runs"),
      },
    ],
    again: { config: "closed-forms", case: "closed forms, lazy leveling, T = 4" },
  },
  partitioning: {
    about:
      "Random keys are loaded into universal compaction as fast as it takes them. Its runs are not cut at " +
      "all (none), cut wherever a table is full (size), or by one of the two partitioners.",
    headlines: [
      { name: "global-range over none, time of a load", ...switched("global-range over none") },
      { name: "global-range over size", ...switched("global-range over size") },
    ],
    panels: [
      {
        title: "Tables, and data loaded a second of compaction, as ratios",
        cases: [
          {
            name: "tables, global-range over size",
            ours: ["figures-5-8", "global-range over size", "tables"],
          },
          {
            name: "tables, local-range over size",
            ours: ["figures-5-8", "local-range over size", "tables"],
          },
          {
            name: "loaded a second, leveled over global-range",
            ours: ["figures-5-8", "leveled over global-range", "MB loaded a second of compaction"],
          },
        ],
      },
    ],
    runs: ["none", "size", "local-range", "global-range"].map((name) => ({
      name,
      config: "figures-5-8",
      run: `figures-5-8, ${name}`,
    })),
    again: { config: "switches", case: "switches, all four, global-range" },
  },
  ptierdb: {
    about:
      "Leveled keeps one run a level, and merges whole levels. Of the workloads of YCSB, A and F are half " +
      "reads and half writes, B and D nearly all reads.",
    headlines: [
      {
        name: "PTierDB: leveled's writes, ptier's",
        ours: [writes("as table I")],
        changed: [writes("page cache and seeks")],
      },
      {
        name: "leveled over ptier, latency in A; F",
        ...latencies("seeks", "page cache and seeks", ["a", "f"]),
      },
      {
        name: "leveled over ptier, latency in B; D",
        ...latencies("slower-merges", "merges x1/4", ["b", "d"]),
      },
    ],
    panels: [
      {
        title: "Table I: write amplification",
        by: "compactions by seeks, page cache",
        config: "table-1-figure-7",
        cases: [
          inTable("leveled", true),
          inTable("silk", false),
          inTable("ptier", true),
          inTable("lazy-leveled", true),
          inTable("pebblesdb", false),
          inTable("tiered", true),
          inTable("wisckey", false),
        ],
      },
    ],
    again: { config: "seeks", case: "seeks, page cache and seeks, leveled" },
  },
  vertiorizon: {
    about:
      "Nine designs under mixes of lookups and updates, uniform and skewed, and of updates and ranges. " +
      "RocksDB is leveling that grows downwards by partial merges.",
    headlines: [
      {
        name: "Vertiorizon over RocksDB, at best",
        ours: [["rocksdb", "as figure 7, the most of all mixes", "Vertiorizon over RocksDB"]],
        changed: [
          [
            "rocksdb",
            "level 1 of 256 MB, merges at half speed, the most of all mixes",
            "Vertiorizon over RocksDB",
          ],
          [
            "rocksdb",
            "level 1 of 256 MB, merges at half speed, tuned by costs, the most of all mixes",
            "Vertiorizon over RocksDB",
          ],
        ],
      },
      { name: "Vertiorizon's mean rank" },
      {
        name: "horizontal leveling's extra space over Vertiorizon's",
        ours: [["figure-7", "uniform 50/50, horizontal leveling over Vertiorizon", "extra space"]],
      },
      { name: "Vertiorizon in the store of 500 GB, 64 GB of cache" },
      {
        name: "Vertiorizon in the store of 500 GB, 32 MB of cache",
        why:
          "With filters of 10 bits all designs read about as fast in a store of this size, so that none can " +
          "lead by much.",
      },
    ],
    panels: [
      {
        title: "Mean rank of each design in throughput, slowest window and space",
        by: "Vertiorizon tuned by what merges and reads cost",
        config: "figure-7",
        cases: [
          "Vertiorizon",
          "vertical leveling, partial",
          "horizontal tiering",
          "Vertiorizon, leveling",
          "vertical tiering, partial",
          "vertical leveling, full",
          "horizontal leveling",
          "vertical tiering, full",
          "Vertiorizon, tiering",
        ].map(ranked),
      },
    ],
    again: { config: "rocksdb", case: "rocksdb, tuned by costs, 90/10, Vertiorizon" },
  },
  spooky: {
    about:
      "A full merge takes whole levels, a partial merge a file of one and what it overlaps in the next. The " +
      "device is an SSD that collects its garbage, and total writes are those of the SSD itself.",
    headlines: [
      {
        name: "Spooky over partial merges, total writes",
        ours: [["figure-13", "spooky over partial, 644 GB", "total write amp"]],
      },
      { name: "Spooky over full merges, merges' writes beyond theirs" },
      { name: "share of the storage that full merges can use; Spooky" },
      {
        name: "Spooky over partial merges, updates a second",
        ours: [["figure-13e", "as in the paper, spooky over partial", "thousand updates a second"]],
      },
      {
        name: "Spooky over partial merges, point reads a second",
        ours: [
          [
            "figure-13f",
            "point reads, reads share bandwidth alone, spooky over partial",
            "thousand reads a second",
          ],
        ],
        changed: [
          [
            "figure-13f",
            "point reads, reads also wait for pages, spooky over partial",
            "thousand reads a second",
          ],
        ],
      },
    ],
    panels: [
      {
        title: "Figure 6 A: write amplification of updates, by the paper's equations",
        config: "figure-6a",
        cases: ofSixA("write amp"),
      },
      {
        title: "Figure 6 A: space at the peak, over the data, by its equations",
        config: "figure-6a",
        cases: ofSixA("peak space amp"),
      },
    ],
    again: { config: "figure-6a", case: "figure 6 A, N/B = 5000, spooky" },
  },
  bucketlsm: {
    about:
      "Fillrandom writes random keys, mixgraph1 mostly to hot ranges that shift. The baseline merges level " +
      "0 in one task; subcompaction divides that task into parts, 8 unless stated.",
    headlines: [
      {
        name: "buckets over one task, fillrandom",
        ours: [inFigure11("fillrandom", "baseline")],
        changed: [["switches", "fillrandom, values that compress 2:1", "bucket over baseline"]],
      },
      {
        name: "buckets over subcompaction, fillrandom",
        ours: [inFigure11("fillrandom", "subcompaction, 8")],
        changed: [
          ["switches", "fillrandom, all, merges at a third of the speed", OVER_SUBCOMPACTION],
        ],
      },
      {
        name: "buckets over one task, mixgraph1",
        ours: [inFigure11("mixgraph1", "baseline")],
        changed: [
          [
            "switches",
            "mixgraph1, shares of present buckets, split above 1.5",
            "bucket over baseline",
          ],
        ],
      },
      {
        name: "buckets over subcompaction, mixgraph1",
        ours: [inFigure11("mixgraph1", "subcompaction, 8")],
        changed: [
          ["unbound", "mixgraph1, merges x1/3, 4 clients, parts at files", OVER_SUBCOMPACTION],
        ],
      },
      { name: "buckets rise to 64, subcompaction flat from 8" },
      {
        name: "deviation of a level-0 merge by parts",
        why: "A merge in more parts is shorter, and its parts are even; slower storage stops the fall, no more.",
      },
      {
        name: "buckets that follow the keys over those that stay",
        ours: [["figure-15", "mixgraph1, dynamic over static", THOUSAND]],
        changed: [
          ["figure-15", "mixgraph1, bucket, 16, also with tables that wait over static", THOUSAND],
        ],
      },
    ],
    panels: [
      {
        title: "Table I: deviation of a level-0 merge by its parts, in seconds",
        by: "parts that end where files do, slower merges, 4 clients, storage of a fifth of the speed",
        config: "figure-10",
        cases: [2, 4, 8, 16].map(deviation),
      },
    ],
    runs: ["baseline", "subcompaction, 8", "bucket, 80"].map((name) => ({
      name,
      config: "figures-11-12-14",
      run: `figures 11 to 14, fillrandom, ${name}`,
    })),
    again: { config: "figures-11-12-14", case: "figures 11 to 14, fillrandom, bucket, 80" },
  },
} satisfies Record<string, Choice>;
