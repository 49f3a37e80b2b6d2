/**
 * Keys as positions from 0 to 1, for a whole run.
 *
 * By bytes, equal widths hold equal bytes of the level with the most bytes, so that a table of it is as wide
 * as it is large. Between its tables' ends, where there is no such level, and everywhere on an axis of plain
 * keys, a key is a number.
 */

import type { Table } from "terrane";
import { compareKeys } from "../timeline/key-order.ts";
import { levelBytes, type PlacedLevel, type State, tablesOf } from "../timeline/state.ts";
import { Characters, type KeyNumbers, keyNumbers } from "./key-numbers.ts";

/** Measure of equal widths: as many bytes, or keys that lie as far apart. */
export type AxisBy = "bytes" | "keys";

/** The positions of keys. */
export interface KeyAxis {
  /** Width of all keys, in widths of the picture. */
  readonly extent: number;
  position(key: Uint8Array): number;
  /** The positions of a table's first and last key, which are computed once. */
  span(table: Table): readonly [from: number, to: number];
  /** The key at a position, as far as it is known: a prefix. */
  key(position: number): Uint8Array;
}

/** The axis of a run that has had these states. */
export function keyAxis(states: Iterable<State>, by: AxisBy = "bytes"): KeyAxis {
  const { least, greatest, characters, largest } = survey(states);
  const numbers = keyNumbers(least, greatest, characters);
  const ends = [numbers.of(least), least === greatest ? 1 : numbers.of(greatest)] as const;
  const anchors = anchorsOf(by === "bytes" ? largest : undefined, numbers, ends);
  const [from, to] = [anchors.map(({ at }) => at), anchors.map(({ position }) => position)];
  const position = (key: Uint8Array) => clamp(interpolate(from, to, numbers.of(key)));
  const spans = new WeakMap<Table, readonly [number, number]>();
  return {
    extent: 1,
    position,
    span(table) {
      let span = spans.get(table);
      if (span === undefined) {
        span = [position(table.smallest), position(table.largest)];
        spans.set(table, span);
      }
      return span;
    },
    key: (position) => numbers.key(interpolate(to, from, position)),
  };
}

/** Survey of the keys of all states, and the state's level with the most bytes. */
interface Survey {
  least: Uint8Array;
  greatest: Uint8Array;
  characters: Characters;
  largest: PlacedLevel | undefined;
}

function survey(states: Iterable<State>): Survey {
  const characters = new Characters();
  /** Levels that stay as they are from state to state. */
  const known = new Set<PlacedLevel>();
  let [least, greatest]: (Uint8Array | undefined)[] = [];
  let [largest, bytes]: [PlacedLevel | undefined, number] = [undefined, -1];
  for (const { levels } of states) {
    for (const level of levels) {
      if (known.has(level)) continue;
      known.add(level);
      for (const { tables } of level.runs) {
        const [smallest, end] = [tables[0]?.smallest, tables.at(-1)?.largest];
        if (smallest && (!least || compareKeys(smallest, least) < 0)) least = smallest;
        if (end && (!greatest || compareKeys(end, greatest) > 0)) greatest = end;
        for (const table of characters.areText ? tables : []) {
          characters.note(table.smallest);
          characters.note(table.largest);
        }
      }
      const size = levelBytes(level);
      // Of several runs none shows how the data lies.
      if (size > bytes && level.runs.length === 1) [largest, bytes] = [level, size];
    }
  }
  const none = new Uint8Array();
  return { least: least ?? none, greatest: greatest ?? none, characters, largest };
}

interface Anchor {
  at: number;
  position: number;
}

function anchorsOf(
  level: PlacedLevel | undefined,
  numbers: KeyNumbers,
  [first, last]: readonly [number, number],
): Anchor[] {
  const tables = tablesOf(level);
  const total = tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const ends = [{ at: first, position: 0 }];
  let sum = 0;
  for (const { smallest, largest, bytes } of tables) {
    ends.push({ at: numbers.of(smallest), position: sum / total });
    sum += bytes;
    ends.push({ at: numbers.of(largest), position: sum / total });
  }
  ends.push({ at: last, position: 1 });
  // Positions must rise with keys.
  return ends.filter(({ at }, i) => i === 0 || at > (ends[i - 1]?.at ?? -1));
}

function interpolate(from: number[], to: number[], value: number): number {
  let [low, high] = [0, from.length - 1];
  if (high < 1) return value;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((from[middle] ?? 0) <= value) low = middle;
    else high = middle;
  }
  const [a, b] = [from[low] ?? 0, from[high] ?? 1];
  const [c, d] = [to[low] ?? 0, to[high] ?? 1];
  return b === a ? c : c + ((value - a) / (b - a)) * (d - c);
}

function clamp(position: number): number {
  return Math.min(Math.max(position, 0), 1);
}
