/**
 * Places keys on a line from 0 to 1, so that tables of all levels lie under one another by key.
 *
 * 1. The first and last keys of all tables cut the key space into stretches.
 * 2. A stretch that lies between the end of one table and the beginning of the next is a gap, and
 *    takes no room.
 * 3. A table's bytes count for the other stretches that it spans, in equal parts. A stretch is as
 *    long as its bytes: where there is more data, there is more room.
 */

import type { Level, Table } from "terrane";

/** Orders keys as the store does. */
export function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Where keys lie. */
export class KeyScale {
  readonly #keys: Uint8Array[];
  /** Where each of the keys lies. */
  readonly #places: number[];

  constructor(levels: Level[]) {
    const tables = levels.flatMap(({ runs }) => runs.flatMap(({ tables }) => tables));
    const ends = tables.flatMap(({ smallest, largest }) => [smallest, largest]);
    this.#keys = ends
      .sort(compareKeys)
      .filter((key, i, all) => i === 0 || compareKeys(key, all[i - 1] ?? key) !== 0);
    const spans = tables.map(({ bytes, smallest, largest }) => {
      return { bytes, from: this.#search(smallest), to: this.#search(largest) };
    });
    const begins = new Set(spans.map(({ from }) => from));
    const stops = new Set(spans.map(({ to }) => to));
    // How many stretches that are no gaps lie before each key.
    let room = 0;
    const rooms = this.#keys.map((_, i) => {
      const before = room;
      if (begins.has(i) || stops.has(i + 1)) room += 1;
      return before;
    });
    // How much more each stretch has than the one before.
    const steps = new Float64Array(this.#keys.length);
    for (const { bytes, from, to } of spans) {
      if (from === to) continue;
      const part = bytes / ((rooms[to] ?? 0) - (rooms[from] ?? 0));
      steps[from] = (steps[from] ?? 0) + part;
      steps[to] = (steps[to] ?? 0) - part;
    }
    let [stretch, end] = [0, 0];
    const places = Array.from(steps, (step, i) => {
      const place = end;
      // What rounding leaves over is no length.
      stretch = Math.max(stretch + step, 0);
      if (begins.has(i) || stops.has(i + 1)) end += stretch;
      return place;
    });
    const length = places.at(-1) || 1;
    this.#places = places.map((place) => place / length);
  }

  /** Where a table begins and how long it is. */
  span({ smallest, largest }: Table): { start: number; length: number } {
    const start = this.place(smallest);
    return { start, length: this.place(largest) - start };
  }

  /** Where a key lies; one that ends no table, in the middle of its stretch. */
  place(key: Uint8Array): number {
    const next = this.#search(key);
    const after = this.#places[next] ?? 1;
    const found = this.#keys[next];
    if (found !== undefined && compareKeys(found, key) === 0) return after;
    return ((this.#places[next - 1] ?? 0) + after) / 2;
  }

  /** The first of the keys that is not less. */
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
