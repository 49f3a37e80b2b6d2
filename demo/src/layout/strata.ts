/** A state as rectangles: its runs as rows, and what is done with their tables. */

import type { Group, State } from "../timeline/state.ts";
import type { Bands } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";
import { type Box, type Row, rowsOf, type TableBox } from "./rows.ts";

/** Work of one group, drawn. */
export interface GroupBox {
  group: Group;
  inputs: readonly TableBox[];
  /** The keys of its inputs. */
  x: number;
  width: number;
  /** Place of its reads. */
  front: number;
  /** Output so far, in the band of the output. */
  output: Box;
  /** Around its inputs, by run. */
  edges: Box[];
}

/** A state, drawn. */
export interface Strata {
  /** Level by level, the oldest run of each first. */
  rows: readonly Row[];
  groups: GroupBox[];
}

/** Lays a state out; `progress` says how far a group is, which may be between two events. */
export function strataOf(
  state: State,
  axis: KeyAxis,
  bands: Bands,
  width: number,
  progress: (group: Group) => { read: number; written: number },
): Strata {
  const rows = state.levels.flatMap((level, depth) => {
    const band = bands.levels[depth];
    return band === undefined ? [] : rowsOf(level, depth, band, axis, width);
  });
  const merges = state.groups.filter(({ moved }) => !moved);
  const groups = inputsOf(merges, rows).map(([group, boxes]) =>
    groupBox(group, boxes, bands, axis.extent * width, progress(group)),
  );
  separate(groups, bands.writing.height);
  return { rows, groups };
}

/** The inputs of groups, for those that have some in these rows. */
function inputsOf(groups: readonly Group[], rows: readonly Row[]): [Group, TableBox[]][] {
  const boxes = new Map<Group, TableBox[]>();
  const groupOf = new Map<number, Group>();
  for (const group of groups) for (const input of group.inputs) groupOf.set(input, group);
  let left = groupOf.size;
  for (const row of rows) {
    if (left === 0) break;
    for (const table of row.tables) {
      const group = groupOf.get(table.id);
      if (group === undefined) continue;
      left -= 1;
      const known = boxes.get(group);
      if (known === undefined) boxes.set(group, [row.box(table)]);
      else known.push(row.box(table));
    }
  }
  return [...boxes];
}

function groupBox(
  group: Group,
  inputs: TableBox[],
  { writing, levels }: Bands,
  extent: number,
  { read, written }: { read: number; written: number },
): GroupBox {
  const x = Math.min(...inputs.map((box) => box.x));
  const end = Math.max(...inputs.map((box) => box.x + box.width));
  const front = frontOf(inputs, read, x, end);
  const across = Math.max(front - x, 1);
  const scale = levels[group.level]?.scale ?? 0;
  const height = written === 0 ? 0 : Math.max(written * scale * (extent / across), 2);
  const output = { x, width: across, y: writing.top, height };
  return { group, inputs, x, width: end - x, front, output, edges: edgesOf(inputs) };
}

/** Around the inputs of each run. */
function edgesOf(inputs: TableBox[]): Box[] {
  const byRun = new Map<string, TableBox[]>();
  for (const box of inputs) {
    const key = `${box.level}/${box.run}`;
    const boxes = byRun.get(key);
    if (boxes === undefined) byRun.set(key, [box]);
    else boxes.push(box);
  }
  return Array.from(byRun.values(), (boxes) => {
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width));
    const bottom = Math.max(...boxes.map((box) => box.y + box.height));
    return { x, y, width: right - x, height: bottom - y };
  });
}

/** Returns the key up to which `read` bytes of the inputs lie: a merge reads them in the order of their keys. */
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
