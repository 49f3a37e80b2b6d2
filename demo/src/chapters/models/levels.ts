/**
 * Costs of leveling and tiering, counted: a level takes T - 1 runs from above before it is full. If it may have K runs,
 * each of these takes (T - 1) / K, and an entry is written on its arrival and with each later one: (T - 1 + K) / 2K
 * times on average. A scan looks into all K. Dostoevsky (section 4.3) has (T - 1) / (K + 1), which leaves out arrivals
 * in an empty run; the order of designs is the same.
 */

/** Writes of an entry, and runs that a short scan looks into. */
export function costOf(
  sizeRatio: number,
  runs: readonly number[],
): { writes: number; runs: number } {
  return {
    writes: runs.reduce((sum, most) => sum + (sizeRatio - 1 + most) / (2 * most), 0),
    runs: runs.reduce((sum, most) => sum + most, 0),
  };
}
