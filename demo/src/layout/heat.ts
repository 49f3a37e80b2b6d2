/** Heat of the key axis: how the operations of some intervals spread over columns of it. */

import type { OperationKind, OperationsEvent } from "../timeline/operations.ts";
import type { KeyAxis } from "./key-axis.ts";

/** Columns of the strip. */
export const COLUMNS = 160;

/**
 * Returns the share of the hottest column's operations that each column has. Between two quantiles operations are
 * spread evenly; those on one key are in its column.
 */
export function heatOf(
  intervals: readonly OperationsEvent[],
  kind: OperationKind,
  axis: KeyAxis,
  columns: number = COLUMNS,
): number[] {
  const heat = new Array<number>(columns).fill(0);
  for (const interval of intervals) {
    const { count, quantiles } = interval[kind];
    const places = quantiles.map((key) => axis.position(key) * columns);
    const share = count / Math.max(places.length - 1, 1);
    if (places.length === 1) spread(heat, places[0] ?? 0, places[0] ?? 0, share);
    places.slice(1).forEach((to, i) => spread(heat, places[i] ?? to, to, share));
  }
  const most = Math.max(...heat);
  return most === 0 ? heat : heat.map((one) => one / most);
}

/** Adds a share, evenly from one place to another; what lies beside the columns is left out. */
function spread(heat: number[], from: number, to: number, share: number): void {
  const column = Math.min(Math.floor(from), heat.length - 1);
  if (Math.floor(to) <= Math.floor(from)) {
    if (from >= 0 && from <= heat.length) heat[column] = (heat[column] ?? 0) + share;
    return;
  }
  const [first, last] = [Math.max(Math.floor(from), 0), Math.min(Math.ceil(to), heat.length)];
  for (let at = first; at < last; at++) {
    const covered = Math.min(at + 1, to) - Math.max(at, from);
    heat[at] = (heat[at] ?? 0) + (share * covered) / (to - from);
  }
}
