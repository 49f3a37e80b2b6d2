/** Compaction debt: the bytes of a tree that wait to be compacted, as the engine estimates them. */

import { levelBytes, type State } from "./state.ts";

/**
 * Returns the debt, in bytes; undefined where no level's bytes are limited. What a level holds above its capacity goes
 * to the next one, with as large a share of that; it then counts there.
 */
export function debtOf({ levels, capacities }: State): number | undefined {
  if (!capacities.some(({ bytes }) => bytes !== null)) return undefined;
  const deepest = levels.findLastIndex((level) => level.runs.length > 0);
  let [debt, arriving] = [0, 0];
  for (const [depth, level] of levels.slice(0, Math.max(deepest, 0)).entries()) {
    const bytes = levelBytes(level) + arriving;
    arriving = 0;
    const capacity = capacities[depth]?.bytes ?? null;
    if (capacity === null) continue;
    arriving = Math.max(bytes - capacity, 0);
    if (arriving > 0) debt += arriving * (1 + levelBytes(levels[depth + 1]) / bytes);
  }
  return Math.round(debt);
}
