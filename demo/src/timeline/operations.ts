/** Gets and writes as events sample them: latencies over time, and the keys that they are on. */

import type { EngineEvent } from "terrane";

/** Gets and writes of an interval. */
export type OperationsEvent = Extract<EngineEvent, { type: "operations" }>;

/** The kinds of operations. */
export const KINDS = ["gets", "writes"] as const;
export type OperationKind = (typeof KINDS)[number];

/** Intervals that a state keeps: about as many seconds. */
const KEPT = 60;
/** Intervals whose keys are shown together. */
const LATEST = 8;
/** Time after which an interval says nothing of the present, in microseconds. */
const STALE = 10_000_000;

/** Returns the last intervals with one more. */
export function withInterval(
  before: readonly OperationsEvent[],
  event: OperationsEvent,
): readonly OperationsEvent[] {
  return [...before.slice(1 - KEPT), event];
}

/** Returns the intervals that show which keys are hot at a moment. */
export function latestOf(
  operations: readonly OperationsEvent[],
  micros: number,
): readonly OperationsEvent[] {
  return operations.slice(-LATEST).filter((event) => micros - event.micros < STALE);
}

/** Returns the number of operations of a kind in a second of an interval. */
export function rateOf(event: OperationsEvent, kind: OperationKind): number {
  return event[kind].count / Math.max(event.lastedMicros / 1e6, 1e-6);
}

/**
 * Returns the narrowest range of keys that half of an interval's operations were on, of keys as numbers; undefined if
 * there were few.
 */
export function hotHalf({
  quantiles,
}: OperationsEvent[OperationKind]): readonly [from: Uint8Array, to: Uint8Array] | undefined {
  const half = Math.floor((quantiles.length - 1) / 2);
  const [first, last] = [quantiles[0], quantiles.at(-1)];
  if (half < 4 || first === undefined || last === undefined) return undefined;
  const differs = first.findIndex((byte, i) => byte !== last[i]);
  const shared = differs < 0 ? first.length : differs;
  let [best, least]: [readonly [Uint8Array, Uint8Array], number] = [[first, last], Infinity];
  quantiles.slice(0, -half).forEach((from, i) => {
    const to = quantiles[i + half] ?? last;
    const width = numberOf(to, shared) - numberOf(from, shared);
    if (width < least) [best, least] = [[from, to], width];
  });
  return best;
}

/** Digits of a key's number: more would not be exact. */
const DIGITS = 6;

/** The number of a key's bytes from one on. */
function numberOf(key: Uint8Array, from: number): number {
  let number = 0;
  for (let i = from; i < from + DIGITS; i++) number = number * 256 + (key[i] ?? 0);
  return number;
}
