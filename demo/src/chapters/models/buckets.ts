/** Buckets that are split where they are hot, and joined where they are cold. */

/** Temperatures of buckets: shares of what was flushed lately, times the number of buckets at the start. */
export function temperatures(volumes: readonly number[], count: number): number[] {
  const sum = volumes.reduce((sum, volume) => sum + volume, 0);
  return volumes.map((volume) => (count * volume) / sum);
}

/** Buckets over 2 are split; then each of up to 0.5 is joined with its colder neighbour. */
export function balance(volumes: readonly number[], count: number): number[] {
  const hot = temperatures(volumes, count);
  const next = volumes.flatMap((volume, i) =>
    (hot[i] ?? 0) > 2 ? [volume / 2, volume / 2] : [volume],
  );
  for (;;) {
    const at = temperatures(next, count).findIndex((temperature) => temperature <= 0.5);
    if (at < 0 || next.length < 2) return next;
    const [left, right] = [next[at - 1] ?? Infinity, next[at + 1] ?? Infinity];
    const from = left <= right ? at - 1 : at;
    next.splice(from, 2, (next[from] ?? 0) + (next[from + 1] ?? 0));
  }
}
