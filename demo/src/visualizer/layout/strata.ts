/**
 * A state as rectangles: x is the key, y is age, area is bytes.
 *
 * A table's height is its bytes by its width of keys. The runs of a level lie on each other, the oldest
 * at the bottom.
 */

import { type Group, type PlacedTable, type State } from "../timeline/state.ts";
import type { Band, Bands } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";

/** Tables that are narrower than this are drawn together, in pixels. */
export const NARROW = 3;
/** The least width and height of a rectangle, in pixels. */
const LEAST_WIDTH = 1;
const LEAST_HEIGHT = 1;
/** Between two runs, in pixels. */
const SHELF = 1.5;

/** A rectangle of the canvas, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A table, drawn. */
export interface TableBox extends Box {
  table: PlacedTable;
  level: number;
  run: number;
  /** The merge or move that it is an input of. */
  group: Group | undefined;
}

/** What one group is doing, drawn. */
export interface GroupBox {
  group: Group;
  /** The keys of its inputs. */
  x: number;
  width: number;
  /** Where it reads. */
  front: number;
  /** What it has written so far, in the band of what is being written. */
  output: Box;
  /** Around its inputs, by run. */
  edges: Box[];
}

/** A state, drawn. */
export interface Strata {
  tables: TableBox[];
  groups: GroupBox[];
}

/** Lays a state out. `micros` is the time, which may lie between two events. */
export function strataOf(
  state: State,
  axis: KeyAxis,
  bands: Bands,
  width: number,
  progress: (group: Group) => { read: number; written: number },
): Strata {
  const groupOf = new Map<number, Group>();
  for (const group of state.groups) for (const input of group.inputs) groupOf.set(input, group);
  const tables: TableBox[] = [];
  state.levels.forEach((level, depth) => {
    const band = bands.levels[depth];
    if (band === undefined) return;
    stack(level.runs, band, axis, width, (table, run, box) => {
      tables.push({ ...box, table, level: depth, run, group: groupOf.get(table.id) });
    });
  });
  const byGroup = new Map<Group, TableBox[]>();
  for (const box of tables) {
    if (box.group === undefined) continue;
    const boxes = byGroup.get(box.group);
    if (boxes === undefined) byGroup.set(box.group, [box]);
    else boxes.push(box);
  }
  const running = [...byGroup].filter(([group]) => !group.moved);
  const groups = running.map(([group, boxes]) =>
    groupBox(group, boxes, bands, width, progress(group)),
  );
  separate(groups, bands.writing.height);
  return { tables, groups };
}

function stack(
  runs: State["levels"][number]["runs"],
  band: Band,
  axis: KeyAxis,
  width: number,
  each: (table: PlacedTable, run: number, box: Box) => void,
): void {
  const drawn = runs.map(({ id, tables }) => {
    const boxes = tables.map((table) => {
      const [x, across] = span(table, axis, width);
      return { table, x, across, height: heightOf(table, across, band, width) };
    });
    return { id, boxes, height: Math.max(...boxes.map(({ height }) => height), 0) + SHELF };
  });
  const all = drawn.reduce((sum, { height }) => sum + height, 0);
  const shrink = Math.min(band.height / Math.max(all, 1), 1);
  let bottom = band.top + band.height;
  for (const { id, boxes, height } of drawn.reverse()) {
    for (const { table, x, across, height } of boxes) {
      const tall = Math.max(height * shrink, LEAST_HEIGHT);
      each(table, id, { x, width: across, y: bottom - tall, height: tall });
    }
    bottom -= height * shrink;
  }
}

function span(table: PlacedTable, axis: KeyAxis, width: number): [x: number, across: number] {
  const [from, to] = axis.span(table);
  return [from * width, Math.max((to - from) * width, LEAST_WIDTH)];
}

function heightOf({ bytes }: PlacedTable, across: number, { scale }: Band, width: number): number {
  return bytes * scale * (width / across);
}

function groupBox(
  group: Group,
  inputs: TableBox[],
  { writing, levels }: Bands,
  width: number,
  { read, written }: { read: number; written: number },
): GroupBox {
  const x = Math.min(...inputs.map((box) => box.x));
  const end = Math.max(...inputs.map((box) => box.x + box.width));
  const front = frontOf(inputs, read, x, end);
  const across = Math.max(front - x, 1);
  const scale = levels[group.level]?.scale ?? 0;
  const height = written === 0 ? 0 : Math.max(written * scale * (width / across), 2);
  const output = { x, width: across, y: writing.top, height };
  return { group, x, width: end - x, front, output, edges: edgesOf(inputs) };
}

/** Around the inputs of each run. */
function edgesOf(inputs: TableBox[]): Box[] {
  const byRun = new Map<string, TableBox[]>();
  for (const box of inputs) {
    const key = `${box.level}/${box.run}`;
    byRun.set(key, [...(byRun.get(key) ?? []), box]);
  }
  return Array.from(byRun.values(), (boxes) => {
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width));
    const bottom = Math.max(...boxes.map((box) => box.y + box.height));
    return { x, y, width: right - x, height: bottom - y };
  });
}

/** The key up to which so many bytes of the inputs lie: a merge reads them in the order of their keys. */
function frontOf(inputs: TableBox[], read: number, x: number, end: number): number {
  let [low, high] = [x, end];
  for (let i = 0; i < 24; i++) {
    const middle = (low + high) / 2;
    let sum = 0;
    for (const box of inputs) {
      const part = Math.min(Math.max((middle - box.x) / box.width, 0), 1);
      sum += part * box.table.bytes;
    }
    if (sum < read) low = middle;
    else high = middle;
  }
  return low;
}

/** Outputs that would lie on each other share the height. */
function separate(groups: GroupBox[], height: number): void {
  const ends: number[] = [];
  const rows = new Map<GroupBox, number>();
  for (const group of [...groups].sort((a, b) => a.x - b.x)) {
    const free = ends.findIndex((end) => end <= group.x);
    const row = free < 0 ? ends.length : free;
    ends[row] = group.x + group.width;
    rows.set(group, row);
  }
  const room = height / Math.max(ends.length, 1);
  for (const [group, row] of rows) {
    group.output.height = Math.min(group.output.height, room - 2);
    group.output.y += row * room;
  }
}
