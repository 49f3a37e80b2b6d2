/** The same keys in one run or several, in blocks of four keys: which blocks a scan reads, and which a get. */

/** Keys in all, and those of a block. */
export const [KEYS, BLOCK] = [96, 4];

/** The blocks of each run: neighbouring keys lie in different runs. */
export function blocksOf(runs: number): number[][][] {
  return Array.from({ length: runs }, (_, run) => {
    const keys = Array.from({ length: KEYS / runs }, (_, i) => i * runs + run);
    return Array.from({ length: keys.length / BLOCK }, (_, i) =>
      keys.slice(i * BLOCK, (i + 1) * BLOCK),
    );
  });
}

/**
 * Returns the blocks of a run that a scan of `count` keys from `first` on reads: those with such a key, and at least
 * the one with the next key, without which the run cannot be left alone.
 */
export function scanned(blocks: readonly number[][], first: number, count: number): number[] {
  const ends = blocks.map((keys) => keys.at(-1) ?? 0);
  const from = ends.findIndex((end) => end >= first);
  if (from < 0) return [];
  const read = [from];
  for (let at = from + 1; (blocks[at]?.[0] ?? Infinity) < first + count; at++) read.push(at);
  return read;
}
