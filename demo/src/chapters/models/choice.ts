/**
 * The choice of a policy, by the costs that simulations report: the rules of `terrane advise`.
 *
 * 1. Costs are those of the operations, once the load is compacted.
 * 2. A policy is on the front if no other beats it: is as good at writes, reads and space, and better at one of them,
 *    by two digits.
 * 3. The pick takes the least time of the device for an operation among policies whose space is within the limit and
 *    whose writes do not wait; if the writes of all of them wait, the policy whose writes wait least.
 */

import { type Figures, type Report, stalledSeconds } from "../../source/reports.ts";

/** Share of the time for which writes of a policy that keeps up may wait. */
const WAITED_MAX = 0.01;

/** Speeds of a device: bytes a second, and microseconds of a block. */
export interface Device {
  read: number;
  write: number;
  blockMicros: number;
}

/** Costs of a policy. */
export interface Costs {
  /** Bytes written to tables for each byte accepted; blocks read for each get or scan. */
  write: number;
  read: number;
  /** The greatest ratio of the store's bytes to those of its live rows. */
  space: number;
  /** Time of the device for an operation, in microseconds: for flushes and compactions, and for its reads. */
  compactionMicros: number;
  readMicros: number;
  /** Share of the time for which writes waited. */
  waited: number;
}

/** Returns the costs of the operations of a report. */
export function costsOf({ phases }: Report, { read, write, blockMicros }: Device): Costs {
  const before = phases.findIndex(({ name }) => name !== "load" && name !== "wait-until-idle");
  const after = phases.slice(Math.max(before, 0));
  const sum = (of: (figures: Figures) => number) =>
    after.reduce((sum, figures) => sum + of(figures), 0);
  const blocks = sum((f) => f.gets * f.read_ios_per_get + f.scans * f.read_ios_per_scan);
  const written = sum((f) => f.flushed_bytes + f.merge_written_bytes);
  const operations = Math.max(
    sum((f) => f.operations),
    1,
  );
  const moving = written / write + sum((f) => f.merge_read_bytes) / read;
  const ratio = (part: number, whole: number) => (whole > 0 ? part / whole : 0);
  return {
    write: ratio(
      written,
      sum((f) => f.user_bytes),
    ),
    read: ratio(
      blocks,
      sum((f) => f.gets + f.scans),
    ),
    space: Math.max(...after.map((f) => f.space_amp_peak)),
    compactionMicros: (moving * 1e6) / operations,
    readMicros: (blocks * blockMicros) / operations,
    waited: ratio(
      sum(stalledSeconds),
      sum((f) => (f.operations > 0 ? f.seconds : 0)),
    ),
  };
}

/** Returns the time of the device for an operation, in microseconds. */
export function deviceMicros({ compactionMicros, readMicros }: Costs): number {
  return compactionMicros + readMicros;
}

/** Whether writes wait for no more than a policy's may that keeps up. */
export function keepsUp({ waited }: Costs): boolean {
  return waited <= WAITED_MAX;
}

/** Returns for each policy whether it is on the front. */
export function front(all: readonly Costs[]): boolean[] {
  const rounded = all.map(({ write, read, space }) =>
    [write, read, space].map((cost) => Number(cost.toPrecision(2))),
  );
  const beats = (a: readonly number[], b: readonly number[]) =>
    a.every((cost, i) => cost <= (b[i] ?? 0)) && a.some((cost, i) => cost < (b[i] ?? 0));
  return rounded.map((one) => !rounded.some((other) => beats(other, one)));
}

/** Returns the positions of the pick, and of the cheaper policy that is too large, or waits, if there is one. */
export function pick(
  all: readonly Costs[],
  spaceMax: number,
): { picked: number | undefined; tooLarge: number | undefined; tooSlow: number | undefined } {
  const order = [...all.entries()].sort(([, a], [, b]) => deviceMicros(a) - deviceMicros(b));
  const fits = ({ space }: Costs) => space <= spaceMax;
  const fitting = order.filter(([, costs]) => fits(costs));
  // Where none keeps up, the one that comes closest.
  const [closest] = fitting.toSorted(([, a], [, b]) => a.waited - b.waited);
  const [picked] = fitting.find(([, costs]) => keepsUp(costs)) ?? closest ?? [];
  const cheaper = order.slice(
    0,
    order.findIndex(([at]) => at === picked),
  );
  const [tooLarge] = cheaper.find(([, costs]) => !fits(costs) && keepsUp(costs)) ?? [];
  const [tooSlow] = cheaper.find(([, costs]) => fits(costs) && !keepsUp(costs)) ?? [];
  return { picked, tooLarge, tooSlow };
}
