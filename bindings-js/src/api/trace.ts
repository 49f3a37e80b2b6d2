/** Traces of reads. */

export type { Origin, ReadCounts, Step, Trace } from "./contract.ts";
