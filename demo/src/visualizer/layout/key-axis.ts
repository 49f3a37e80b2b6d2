/**
 * Keys as positions from 0 to 1, for a whole run.
 *
 * Equal widths hold equal bytes of the level with the most bytes, so that a table of it is as wide as
 * it is large. Between its tables' ends, and where there is no such level, a key is a number: its first
 * bytes after those that all keys share.
 */

import type { Table } from "terrane";
import { compareKeys } from "../../key-scale.ts";
import { levelBytes, type State, tablesOf } from "../timeline/state.ts";

/** Bytes of a key that count: more would not change a position. */
const KEY_BYTES = 6;

/** The positions of keys. */
export interface KeyAxis {
  /** How many widths of the picture all keys take. */
  readonly extent: number;
  position(key: Uint8Array): number;
  /** The positions of a table's first and last key, which are computed once. */
  span(table: Table): readonly [from: number, to: number];
  /** The key at a position, as far as it is known: a prefix. */
  key(position: number): Uint8Array;
}

/** The axis of a run that has had these states. */
export function keyAxis(states: Iterable<State>): KeyAxis {
  const [bounds, largest] = survey(states);
  const shared = sharedPrefix(bounds);
  const number = (key: Uint8Array) => fraction(key, shared);
  const [first, last] = bounds.map(number);
  const anchors = anchorsOf(largest, number, first ?? 0, last ?? 1);
  const [from, to] = [anchors.map(({ at }) => at), anchors.map(({ position }) => position)];
  const prefix = bounds[0]?.subarray(0, shared) ?? new Uint8Array();
  const position = (key: Uint8Array) => clamp(interpolate(from, to, number(key)));
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
    key: (position) => toKey(prefix, interpolate(to, from, position)),
  };
}

/** The least and the greatest key of all states, and the state's level with the most bytes. */
function survey(states: Iterable<State>): [Uint8Array[], State["levels"][number] | undefined] {
  let [least, greatest]: (Uint8Array | undefined)[] = [];
  let [largest, bytes]: [State["levels"][number] | undefined, number] = [undefined, -1];
  for (const { levels } of states) {
    for (const level of levels) {
      for (const { tables } of level.runs) {
        const [smallest, end] = [tables[0]?.smallest, tables.at(-1)?.largest];
        if (smallest && (!least || compareKeys(smallest, least) < 0)) least = smallest;
        if (end && (!greatest || compareKeys(end, greatest) > 0)) greatest = end;
      }
      const size = levelBytes(level);
      // Of several runs none shows how the data lies.
      if (size > bytes && level.runs.length === 1) [largest, bytes] = [level, size];
    }
  }
  return [least && greatest ? [least, greatest] : [], largest];
}

interface Anchor {
  at: number;
  position: number;
}

function anchorsOf(
  level: State["levels"][number] | undefined,
  number: (key: Uint8Array) => number,
  first: number,
  last: number,
): Anchor[] {
  const tables = tablesOf(level);
  const total = tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const ends = [{ at: first, position: 0 }];
  let sum = 0;
  for (const { smallest, largest, bytes } of tables) {
    ends.push({ at: number(smallest), position: sum / total });
    sum += bytes;
    ends.push({ at: number(largest), position: sum / total });
  }
  ends.push({ at: last, position: 1 });
  // Positions must rise with keys.
  return ends.filter(({ at }, i) => i === 0 || at > (ends[i - 1]?.at ?? -1));
}

function sharedPrefix([least, greatest]: Uint8Array[]): number {
  if (least === undefined || greatest === undefined) return 0;
  const length = Math.min(least.length, greatest.length);
  let shared = 0;
  while (shared < length && least[shared] === greatest[shared]) shared += 1;
  return shared;
}

function fraction(key: Uint8Array, from: number): number {
  let [value, unit] = [0, 1];
  for (let i = from; i < from + KEY_BYTES; i++) {
    unit /= 256;
    value += (key[i] ?? 0) * unit;
  }
  return value;
}

function toKey(prefix: Uint8Array, value: number): Uint8Array {
  const rest = Array.from({ length: KEY_BYTES }, () => {
    const digit = Math.min(Math.floor(value * 256), 255);
    value = value * 256 - digit;
    return digit;
  });
  return Uint8Array.from([...prefix, ...rest]);
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
