/** Measurements of a chapter's question: runs of the simulator, to their ends. */

import { start } from "../source/recording.ts";
import { DEFAULTS, DELETES, type Settings } from "../source/settings.ts";
import { encode } from "../source/link.ts";
import { storeBytes, tablesOf, writeAmplification } from "../timeline/state.ts";
import type { Timeline } from "../timeline/timeline.ts";

/** Measurements, and the place where they can be seen. */
export interface Measured {
  value: number;
  /** The fragment that opens the recording. */
  link?: string;
}

/** Choice of the settings of most questions. */
export const SMALL =
  "The settings are chosen to show the effect at a small scale, in seconds: 300,000 updates of 100,000 " +
  "keys with values of 1 KiB, at 20,000 a second; memtables and tables of 4 MiB, T = 5. The order holds " +
  "for them; the figures are no forecast for a store of another size.";

/** The size of recordings in chapters, and a pace at which every policy keeps up. */
const SIZE = { load: 100_000, operations: 300_000, rate: 20_000, workload: "uniform" } as const;

/** Returns the settings of a recording of this size. */
export const sized = (changes: Partial<Settings>): Settings => ({
  ...DEFAULTS,
  ...SIZE,
  ...changes,
});

/** The fragment that opens such a recording. */
export function linkTo(changes: Partial<Settings>): string {
  return encode({ settings: sized(changes) });
}

/** Returns a prediction about a simulation, which is measured as a whole. */
export function simulated(
  changes: Partial<Settings>,
  measure: (timeline: Timeline, settings: Settings) => number,
): { settings: Settings; measure: () => Promise<Measured> } {
  const settings = sized(changes);
  return {
    settings,
    async measure() {
      const recording = start(settings, () => undefined, Promise.resolve());
      await recording.ended;
      const { timeline, status } = recording;
      if (status.at === "failed") throw new Error(status.error);
      return { value: measure(timeline, settings), link: encode({ settings }) };
    },
  };
}

/** Bytes written to tables for each that was accepted. */
export const writing = ({ end }: Timeline) => writeAmplification(end);

/** Tombstones left in the tree, for each 100 deletes of the workload of updates and deletes. */
export function tombstonesLeft({ end }: Timeline, { operations }: Settings): number {
  const left = end.levels.flatMap(tablesOf).reduce((sum, { tombstones }) => sum + tombstones, 0);
  return (100 * left) / (DELETES * operations);
}

/** Seconds for which writes waited. */
export const waiting = ({ end }: Timeline) => end.stalledMicros / 1e6;

/** Groups of a compaction, on average. */
export function groupsPerCompaction(timeline: Timeline): number {
  let [groups, compactions] = [0, 0];
  for (const event of timeline.events(0, timeline.length)) {
    if (event.type !== "compaction-begun") continue;
    groups += event.groups;
    compactions += 1;
  }
  return groups / Math.max(compactions, 1);
}

/** The most that is on disk at once, in units of the data that is alive. */
export function peakSpace(timeline: Timeline, { load, valueBytes }: Settings): number {
  const alive = load * (valueBytes + KEY_BYTES);
  let most = 0;
  for (let count = 0; count <= timeline.length; count++) {
    most = Math.max(most, storeBytes(timeline.after(count)));
  }
  return most / alive;
}

/** Bytes of a simulated key. */
const KEY_BYTES = 16;
