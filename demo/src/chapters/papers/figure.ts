/** A paper's numbers beside those of its simulation here, as the site's build reads them from docs/papers. */

/** A simulated policy, as its configuration has it. */
export interface PaperRun {
  /** The policy and its parameters, with the names that a configuration has. */
  policy: Record<string, unknown>;
  /** Bytes of a memtable, to which sizes among the parameters are in proportion. */
  buffer: number;
}

/** Numbers that are drawn in one line. */
export interface Marks {
  /** The paper's number, its two, or the ends of its range; none if it states none. */
  paper: readonly number[];
  ours: readonly number[];
  /** Ours with something that the paper, its code or its machine has and the figure has not. */
  changed: readonly number[];
}

/** A sentence that a paper leads with, as the table of headlines has it. */
export interface Headline {
  name: string;
  /** Numbers as the table states them. */
  paper: string;
  ours: string;
  changed: string;
  /** Whether the paper's order holds, with the change if there is one. */
  holds: boolean;
  /** The change. */
  by: string;
  /** Reason why the order does not hold. */
  why?: string;
  /** Ratios of two designs, where the headline is one. */
  marks?: Marks;
}

/** A case of a figure. */
export interface PaperCase extends Marks {
  name: string;
  run?: PaperRun;
}

/** A figure with a number of each case. */
export interface Panel {
  title: string;
  /** The change of `changed`; empty if no case has one. */
  by: string;
  /** Heading of the paper's numbers. */
  stated: "the paper" | "equation";
  cases: readonly PaperCase[];
}

/** The figures of a chapter. */
export interface PaperFigure {
  /** Designs and workloads that the names stand for. */
  about: string;
  headlines: readonly Headline[];
  panels: readonly Panel[];
  /** Designs that the headlines compare, by their names. */
  runs: readonly { name: string; run: PaperRun }[];
  /** A configuration in the repository, and a case of it, to run one of the simulations again. */
  again: { config: string; case: string };
}
