/** Simulations of which only the report counts, as `terrane simulate --json` prints it. */

import { simulatorModule } from "./simulator-module.ts";
import type { Question, Told } from "./report-worker.ts";

/** Figures of a period, as far as they count here. */
export interface Figures {
  seconds: number;
  operations: number;
  user_bytes: number;
  flushed_bytes: number;
  merge_read_bytes: number;
  merge_written_bytes: number;
  space_amp_peak: number;
  gets: number;
  read_ios_per_get: number;
  scans: number;
  read_ios_per_scan: number;
  by_level: { lookups: number; false_positives: number }[];
  stall_seconds: { memtables: number; level0: number; compaction_bytes: number };
  latencies: Partial<Record<string, { max: number }>>;
}

/** A report: the figures of the whole, and of each phase. */
export interface Report extends Figures {
  phases: (Figures & { name: string })[];
}

/** Returns the seconds for which writes waited. */
export function stalledSeconds({ stall_seconds: stalls }: Figures): number {
  return stalls.memtables + stalls.level0 + stalls.compaction_bytes;
}

/**
 * Simulates configurations one after the other in a worker; `take` gets the report of each, or the reason why it has
 * none. Returns a function that ends the worker.
 */
export function simulateReports(
  configs: readonly object[],
  take: (at: number, report: Report | string) => void,
): () => void {
  const worker = new Worker(new URL("./report-worker.ts", import.meta.url), { type: "module" });
  const failed = (why: string) => configs.forEach((_, at) => take(at, why));
  worker.onmessage = ({ data }: MessageEvent<Told>) => take(data.at, data.report);
  worker.onerror = ({ message }) => failed(message || "The simulator's worker did not start.");
  const texts = configs.map((config) => JSON.stringify(config));
  simulatorModule().then(
    (module) => worker.postMessage({ module, configs: texts } satisfies Question),
    (error: unknown) => failed(String(error)),
  );
  return () => worker.terminate();
}
