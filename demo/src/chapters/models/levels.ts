/**
 * What leveling and tiering cost in Dostoevsky's model: a level of up to K runs writes each entry
 * (T - 1 + K) / 2K times, and a scan looks into all K.
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
