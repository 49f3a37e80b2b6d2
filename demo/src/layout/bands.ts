/**
 * Where levels lie, and their scales: bytes per pixel, so that area is bytes. Both hold for a whole run,
 * so that nothing grows or shrinks for another reason than its bytes.
 *
 * Each level has a scale of its own, by which small ones can be read, or all have one, by which areas of
 * different levels compare.
 */

import { bucketsOf } from "../timeline/facts.ts";
import { levelBytes, type State } from "../timeline/state.ts";

/** Heights, in pixels: of the memory's band, between bands, and of what is being written. */
export const MEMORY = 34;
export const GAP = 22;
export const WRITING = 64;
/** The height of the temperatures of buckets. */
const TEMPERATURES = 34;
/** The least height of a level's band. */
const LEAST = 18;
/** Height above its even one at which a level may stand, where its keys are hot. */
const PEAK = 1.7;

/** Scales of levels: one for each, or one for the tree. */
export type ScaleBy = "level" | "tree";

/** A level's band. */
export interface Band {
  /** Pixels from the top of the canvas. */
  top: number;
  height: number;
  /** Pixels of height of a byte that is spread over all keys. */
  scale: number;
}

/** The bands of a run, and that of what is being written. */
export interface Bands {
  memory: { top: number; height: number };
  /** The temperatures of buckets, where there are any. */
  temperatures: { top: number; height: number } | undefined;
  levels: Band[];
  /** Between two bands. */
  gap: number;
  writing: { top: number; height: number };
}

/** The bands for a canvas of this height, of a run that has had these states; small ones for levels alone. */
export function bandsOf(
  states: Iterable<State>,
  height: number,
  { small = false, scaleBy = "level" }: { small?: boolean; scaleBy?: ScaleBy } = {},
): Bands {
  const [memory, gap, writing, leastHeight] = small ? [0, 3, 0, 4] : [MEMORY, GAP, WRITING, LEAST];
  const most: number[] = [];
  let buckets = false;
  for (const { levels, facts } of states) {
    buckets ||= !small && bucketsOf(facts).length > 0;
    levels.forEach((level, depth) => {
      most[depth] = Math.max(most[depth] ?? 0, levelBytes(level));
    });
  }
  const count = Math.max(most.length, 1);
  const taken = memory + (buckets ? TEMPERATURES : 0);
  const room = height - taken - writing - gap * (count + 1);
  const scaled = { level: ownScales, tree: oneScale }[scaleBy](most, room, leastHeight);
  const levels: Band[] = [];
  let top = taken + gap;
  for (const band of scaled) {
    levels.push({ top, ...band });
    top += band.height + gap;
  }
  return {
    memory: { top: 4, height: memory - 8 },
    temperatures: buckets ? { top: memory + 2, height: TEMPERATURES } : undefined,
    levels,
    gap,
    writing: { top, height: writing },
  };
}

type Scaled = Pick<Band, "height" | "scale">;

/** Heights and scales of levels by the most bytes of each, where each has its own scale. */
function ownScales(most: readonly number[], room: number, leastHeight: number): Scaled[] {
  // Deeper levels are larger by a factor each; their heights by much less, or the first would vanish.
  const weights = most.map((bytes) => Math.log2(2 + bytes / Math.max(least(most), 1)) ** 0.8);
  const sum = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  return weights.map((weight, depth) => {
    const height = Math.max((room * weight) / sum, leastHeight);
    return { height, scale: height / PEAK / Math.max(most[depth] ?? 0, 1) };
  });
}

/** Heights of levels where all have one scale: levels that are too small to be read take the least height. */
function oneScale(most: readonly number[], room: number, leastHeight: number): Scaled[] {
  let [left, bytes] = [room, most.reduce((sum, bytes) => sum + bytes, 0)];
  // The smallest first, since what one of them takes is lost to the larger ones.
  for (const own of most.toSorted((a, b) => a - b)) {
    if (own * left >= leastHeight * bytes) break;
    left -= leastHeight;
    bytes -= own;
  }
  const height = Math.max(left, leastHeight) / Math.max(bytes, 1);
  return most.map((own) => ({
    height: Math.max(own * height, leastHeight),
    scale: height / PEAK,
  }));
}

/** The most memtables that are drawn. */
const MEMTABLES = 4;

/** Returns the places of memtables, the newest on top. */
export function memtableRows({ memory }: Bands, count: number): { y: number; height: number }[] {
  const shown = Math.min(count, MEMTABLES);
  const each = memory.height / shown;
  return Array.from({ length: shown }, (_, i) => ({
    y: memory.top + i * each + 1,
    height: each - 2,
  }));
}

function least(sizes: readonly number[]): number {
  return Math.min(...sizes.filter((bytes) => bytes > 0), Number.MAX_SAFE_INTEGER);
}
