/**
 * Maps keys to positions from 0 to 1, so that the tables of all levels are aligned by key.
 *
 * 1. The first and last keys of all tables divide the key space into segments.
 * 2. A segment between the end of one table and the start of the next is a gap, and has no width.
 * 3. A table's bytes are divided equally among the other segments that it covers. The width of a
 *    segment is the sum of its bytes: more data, more space.
 */

import type { Level, Table } from "terrane";
import { compareKeys } from "./visualizer/timeline/key-order.ts";

/** The positions of keys. */
export class KeyScale {
  readonly #keys: Uint8Array[];
  /** The position of each key. */
  readonly #positions: number[];

  constructor(levels: Level[]) {
    const tables = levels.flatMap(({ runs }) => runs.flatMap(({ tables }) => tables));
    const ends = tables.flatMap(({ smallest, largest }) => [smallest, largest]);
    this.#keys = ends
      .sort(compareKeys)
      .filter((key, i, all) => i === 0 || compareKeys(key, all[i - 1] ?? key) !== 0);
    const spans = tables.map(({ bytes, smallest, largest }) => {
      return { bytes, from: this.#search(smallest), to: this.#search(largest) };
    });
    const starts = new Set(spans.map(({ from }) => from));
    const stops = new Set(spans.map(({ to }) => to));
    // The number of segments before each key that are not gaps.
    let segments = 0;
    const segmentsBefore = this.#keys.map((_, i) => {
      const before = segments;
      if (starts.has(i) || stops.has(i + 1)) segments += 1;
      return before;
    });
    // The difference in width between each segment and the one before.
    const steps = new Float64Array(this.#keys.length);
    for (const { bytes, from, to } of spans) {
      if (from === to) continue;
      const part = bytes / ((segmentsBefore[to] ?? 0) - (segmentsBefore[from] ?? 0));
      steps[from] = (steps[from] ?? 0) + part;
      steps[to] = (steps[to] ?? 0) - part;
    }
    let [width, end] = [0, 0];
    const positions = Array.from(steps, (step, i) => {
      const position = end;
      // Rounding must not make it negative.
      width = Math.max(width + step, 0);
      if (starts.has(i) || stops.has(i + 1)) end += width;
      return position;
    });
    const length = positions.at(-1) || 1;
    this.#positions = positions.map((position) => position / length);
  }

  /** The start and the length of a table. */
  span({ smallest, largest }: Table): { start: number; length: number } {
    const start = this.position(smallest);
    return { start, length: this.position(largest) - start };
  }

  /** The position of a key; one inside a segment is in the segment's middle. */
  position(key: Uint8Array): number {
    const next = this.#search(key);
    const after = this.#positions[next] ?? 1;
    const found = this.#keys[next];
    if (found !== undefined && compareKeys(found, key) === 0) return after;
    return ((this.#positions[next - 1] ?? 0) + after) / 2;
  }

  /** The index of the first key that is not less. */
  #search(key: Uint8Array): number {
    let [low, high] = [0, this.#keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = this.#keys[middle];
      if (found !== undefined && compareKeys(found, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
