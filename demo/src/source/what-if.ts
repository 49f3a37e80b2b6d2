/** Simulations of what would help a store whose writes wait: each changes one thing of its configuration. */

import { simulatorModule } from "./simulator-module.ts";
import type { Outcome, Question, Told } from "./what-if-worker.ts";

/** A change of a configuration. */
export interface Change {
  name: string;
  config: object;
}

/** Workers that share a merge, and the least bytes that each of them reads. */
const [SHARED, PART_BYTES] = [4, 1 << 22];

/** A configuration as far as it is changed here. */
interface Changed {
  workers: number;
  "buffer-bytes": number;
  subcompactions?: number;
  "subcompaction-bytes"?: number;
  device: { "read-speed": number; "write-speed": number };
}

/** The configuration as it is, and the changes that may help. */
export function changesOf(config: object): Change[] {
  const before = config as Changed;
  const { workers, device } = before;
  const twice = {
    ...device,
    "read-speed": device["read-speed"] * 2,
    "write-speed": device["write-speed"] * 2,
  };
  return [
    { name: "as it is", config },
    { name: "one more worker", config: { ...before, workers: workers + 1 } },
    {
      name: `merges shared by ${SHARED} workers`,
      config: { ...before, subcompactions: SHARED, "subcompaction-bytes": PART_BYTES },
    },
    { name: "a device twice as fast", config: { ...before, device: twice } },
    {
      name: "memtables twice as large",
      config: { ...before, "buffer-bytes": before["buffer-bytes"] * 2 },
    },
  ];
}

/** Simulates changes one after the other; `tell` gets the outcome of each, or the reason why it has none. */
export function simulateChanges(
  changes: readonly Change[],
  tell: (at: number, outcome: Outcome | string) => void,
): () => void {
  const worker = new Worker(new URL("./what-if-worker.ts", import.meta.url), { type: "module" });
  const failed = (why: string) => changes.forEach((_, at) => tell(at, why));
  worker.onmessage = ({ data }: MessageEvent<Told>) => tell(data.at, data.outcome);
  worker.onerror = ({ message }) => failed(message || "The simulator's worker did not start.");
  const configs = changes.map(({ config }) => JSON.stringify(config));
  simulatorModule().then(
    (module) => worker.postMessage({ module, configs } satisfies Question),
    (error: unknown) => failed(String(error)),
  );
  return () => worker.terminate();
}
