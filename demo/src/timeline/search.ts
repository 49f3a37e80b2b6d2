/** Binary search. */

/** The number of positions that hold, if all that do come first. */
export function search(length: number, holds: (position: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
