/**
 * What is a policy's own, placed: its buckets, the cuts that levels share, the border between the parts
 * of its tree, and where prefixes start.
 */

import { bucketsOf, treeFact } from "../timeline/facts.ts";
import { compareKeys } from "../timeline/key-order.ts";
import { type PlacedLevel, type PlacedTable, type State, tablesOf } from "../timeline/state.ts";
import type { Bands } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";

/** The temperatures at which a bucket is split, and joined with a neighbour, and the highest shown. */
export const HOT = 2;
export const COLD = 0.5;
export const HOTTEST = 3;
/** A gap between two tables that is wider is no cut, but a place without data: a share of all keys. */
const CUT_WIDTH = 0.005;
/** The most prefixes of a table that are shown one by one. */
const TEETH = 256;

/** A bucket, in pixels. */
export interface BucketMark {
  x: number;
  width: number;
  temperature: number;
}

/** A key at which no table of two neighbouring levels lies on both sides, in pixels. */
export interface CutMark {
  x: number;
  top: number;
  bottom: number;
}

/** Rule by which a policy takes prefixes from keys: by a length, or through a byte. */
export interface PrefixRule {
  length: number;
  delimiter: number | undefined;
}

/** A policy's own things, placed. */
export interface PolicyMarks {
  buckets: BucketMark[];
  cuts: CutMark[];
  /** Between the horizontal and the vertical part of a tree: pixels from the top. */
  border: number | undefined;
}

/** Places what is a policy's own in a state. */
export function policyMarks(state: State, axis: KeyAxis, bands: Bands, width: number): PolicyMarks {
  const vertical = treeFact(state.facts, "v1-level");
  const below = vertical === undefined ? undefined : bands.levels[vertical];
  return {
    buckets: bucketMarks(state, axis, width),
    cuts: cutMarks(state.levels, axis, bands, width),
    border: below && below.top - bands.gap / 2,
  };
}

function bucketMarks({ facts }: State, axis: KeyAxis, width: number): BucketMark[] {
  const buckets = bucketsOf(facts);
  const starts = buckets.map(({ from }) => (from.length === 0 ? 0 : axis.position(from) * width));
  return buckets.map(({ temperature }, i) => {
    const x = starts[i] ?? 0;
    return { x, width: (starts[i + 1] ?? width) - x, temperature };
  });
}

/** Keys without a table: after one key, and before another. */
type Gap = readonly [after: Uint8Array, before: Uint8Array];

/** Gaps of levels, which most events leave as they are, by axis. */
const gaps = new WeakMap<KeyAxis, WeakMap<PlacedLevel, Gap[]>>();

function gapsOf(level: PlacedLevel, axis: KeyAxis): Gap[] {
  let known = gaps.get(axis);
  if (known === undefined) gaps.set(axis, (known = new WeakMap()));
  let found = known.get(level);
  if (found === undefined) {
    found = [];
    const tables = tablesOf(level).sort((a, b) => compareKeys(a.smallest, b.smallest));
    let last: PlacedTable | undefined;
    for (const table of tables) {
      // By keys: on an axis of bytes the tables of the largest level lie side by side.
      if (last !== undefined && compareKeys(table.smallest, last.largest) > 0) {
        const width = axis.span(table)[0] - axis.span(last)[1];
        if (width < CUT_WIDTH * axis.extent) found.push([last.largest, table.smallest]);
      }
      if (last === undefined || compareKeys(table.largest, last.largest) > 0) last = table;
    }
    known.set(level, found);
  }
  return found;
}

/** The cuts that two levels share, one of which lies right above the other. */
function cutMarks(
  levels: readonly PlacedLevel[],
  axis: KeyAxis,
  bands: Bands,
  width: number,
): CutMark[] {
  const cuts: CutMark[] = [];
  let above: number | undefined;
  levels.forEach((level, depth) => {
    const [band, over] = [bands.levels[depth], bands.levels[above ?? -1]];
    const upper = levels[above ?? -1];
    if (level.runs.length === 0 || band === undefined) return;
    if (upper !== undefined && over !== undefined) {
      const [all, own] = [gapsOf(upper, axis), gapsOf(level, axis)];
      const both = shared(all, own);
      // Some of many cuts fall together by chance.
      if (both.length * 2 >= Math.min(all.length, own.length)) {
        const [top, bottom] = [over.top, band.top + band.height];
        for (const key of both) cuts.push({ x: axis.position(key) * width, top, bottom });
      }
    }
    above = depth;
  });
  return cuts;
}

/** The keys that end gaps of both lists where those have keys in common. */
function shared(a: readonly Gap[], b: readonly Gap[]): Uint8Array[] {
  const found: Uint8Array[] = [];
  let [i, j] = [0, 0];
  for (let [one, other] = [a[i], b[j]]; one && other; [one, other] = [a[i], b[j]]) {
    const after = compareKeys(one[0], other[0]) > 0 ? one[0] : other[0];
    const before = compareKeys(one[1], other[1]) < 0 ? one[1] : other[1];
    if (compareKeys(after, before) < 0) found.push(before);
    if (compareKeys(one[1], other[1]) < 0) i += 1;
    else j += 1;
  }
  return found;
}

/** The prefix of a key. */
export function prefixOf(key: Uint8Array, { length, delimiter }: PrefixRule): Uint8Array {
  const end = delimiter === undefined ? length : key.indexOf(delimiter) + 1;
  return end > 0 ? key.subarray(0, end) : key;
}

/**
 * The prefixes that a table spans, as far as they are known: one if all its keys share it, otherwise
 * those between the first and the last of its keys. Undefined if they are too many.
 */
export function prefixesOf(table: PlacedTable, rule: PrefixRule): Uint8Array[] | undefined {
  const first = prefixOf(table.smallest, rule);
  const [from, to] = [number(first), number(prefixOf(table.largest, rule))];
  if (from === to) return [first];
  if (rule.delimiter !== undefined || first.length > 4 || to - from >= TEETH) return undefined;
  return Array.from({ length: to - from + 1 }, (_, i) => bytes(from + i, first.length));
}

function number(prefix: Uint8Array): number {
  return prefix.reduce((sum, byte) => sum * 256 + byte, 0);
}

function bytes(value: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => Math.floor(value / 256 ** (length - 1 - i)) % 256);
}
