/** Work that is done as often as text may change. */

/** Interval of changing text, in milliseconds. */
export const TELL = 100;

/** Returns a function that does the work, at once if that was done long enough ago, and otherwise as soon as it may. */
export function paced(work: () => void): () => void {
  let last = -TELL;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  return () => {
    const wait = Math.max(last + TELL - performance.now(), 0);
    waiting ??= setTimeout(() => {
      waiting = undefined;
      last = performance.now();
      work();
    }, wait);
  };
}
