/**
 * The runs of a level as rows: x is the key, and area is bytes.
 *
 * 1. A table's height is its bytes by its width of keys. The oldest run lies at the bottom.
 * 2. Narrow tables become one skyline: a height for each column of pixels.
 * 3. Most events leave a level as it is, and so its rows are kept: by its band, and for one axis.
 */

import type { PlacedLevel, PlacedRun, PlacedTable } from "../timeline/state.ts";
import type { Band } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";

/** Tables that are narrower than this are drawn together, in pixels. */
export const NARROW = 3;
/** The least width and height of a rectangle, in pixels. */
const LEAST_WIDTH = 1;
const LEAST_HEIGHT = 1;
/** Between two runs, in pixels. */
const SHELF = 1.5;
/** Distance from a rectangle at which it is still pointed at, in pixels. */
const REACH = { x: 1, y: 2 };

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
}

/** A run, drawn. */
export interface Row {
  level: number;
  run: number;
  /** In key order. */
  tables: readonly PlacedTable[];
  /** Pixels from the top of the canvas. */
  top: number;
  bottom: number;
  /** The tables that are drawn one by one: those that can be seen. */
  wide: readonly TableBox[];
  /** The height of the others by column of pixels. */
  skyline: Float64Array;
  /** Returns the place of one of its tables. */
  box(table: PlacedTable): TableBox;
}

/** The rows that levels had, by band. */
const kept = new WeakMap<Band, Kept>();

interface Kept {
  axis: KeyAxis;
  width: number;
  rows: WeakMap<PlacedLevel, readonly Row[]>;
}

/** The rows of a level, the oldest first. */
export function rowsOf(
  level: PlacedLevel,
  depth: number,
  band: Band,
  axis: KeyAxis,
  width: number,
): readonly Row[] {
  let known = kept.get(band);
  if (known?.axis !== axis || known.width !== width) {
    known = { axis, width, rows: new WeakMap() };
    kept.set(band, known);
  }
  let rows = known.rows.get(level);
  if (rows === undefined) {
    rows = stack(level, depth, band, axis, width);
    known.rows.set(level, rows);
  }
  return rows;
}

/** The table at a place, if there is one. */
export function boxAt(rows: readonly Row[], x: number, y: number): TableBox | undefined {
  for (const row of rows.toReversed()) {
    if (y < row.top - REACH.y || y > row.bottom + REACH.y) continue;
    for (const table of row.tables.toReversed()) {
      const box = row.box(table);
      const across = x >= box.x - REACH.x && x <= box.x + box.width + REACH.x;
      if (across && y >= box.y - REACH.y && y <= box.y + box.height + REACH.y) return box;
    }
  }
  return undefined;
}

/** Returns the place of a table, by its id. */
export function boxOf(rows: readonly Row[], id: number | undefined): TableBox | undefined {
  if (id === undefined) return undefined;
  for (const row of rows) {
    const table = row.tables.find((table) => table.id === id);
    if (table !== undefined) return row.box(table);
  }
  return undefined;
}

function stack(
  { runs }: PlacedLevel,
  level: number,
  band: Band,
  axis: KeyAxis,
  width: number,
): Row[] {
  const tall = (bytes: number, across: number) =>
    bytes * band.scale * ((axis.extent * width) / across);
  const measured = runs.map((run) => measure(run, axis, width, tall));
  const all = measured.reduce((sum, { height }) => sum + height + SHELF, 0);
  const shrink = Math.min(band.height / Math.max(all, 1), 1);
  let bottom = band.top + band.height;
  return measured.toReversed().map(({ run, wide, skyline, height }) => {
    const at = bottom;
    bottom -= (height + SHELF) * shrink;
    const shrunk = (height: number) => Math.max(height * shrink, LEAST_HEIGHT);
    const heights = skyline.map((height) => (height === 0 ? 0 : shrunk(height)));
    const box = (table: PlacedTable): TableBox => {
      const [x, across] = span(table, axis, width);
      const height =
        across < NARROW ? highest(heights, x, across) : shrunk(tall(table.bytes, across));
      return {
        x,
        y: at - height,
        width: Math.max(across, LEAST_WIDTH),
        height,
        table,
        level,
        run: run.id,
      };
    };
    return {
      level,
      run: run.id,
      tables: run.tables,
      top: at - shrunk(height),
      bottom: at,
      wide: wide.map(box),
      skyline: heights,
      box,
    };
  });
}

/** A run's tables that are drawn one by one, the skyline of the others, and the greatest height. */
function measure(
  run: PlacedRun,
  axis: KeyAxis,
  width: number,
  tall: (bytes: number, across: number) => number,
): { run: PlacedRun; wide: PlacedTable[]; skyline: Float64Array; height: number } {
  const wide: PlacedTable[] = [];
  let skyline = new Float64Array();
  let height = 0;
  for (const table of run.tables) {
    const [x, across] = span(table, axis, width);
    if (across >= NARROW) {
      if (x <= width && x + across >= 0) wide.push(table);
      height = Math.max(height, tall(table.bytes, across));
      continue;
    }
    if (skyline.length === 0) skyline = new Float64Array(Math.ceil(width) + 1);
    const [first, last] = columns(x, across);
    for (let column = first; column <= last; column++) {
      const inside = Math.min(x + across, column + 1) - Math.max(x, column);
      const part = across === 0 ? 1 : inside / across;
      skyline[column] = (skyline[column] ?? 0) + tall(table.bytes * part, 1);
    }
  }
  return { run, wide, skyline, height: skyline.reduce((a, b) => Math.max(a, b), height) };
}

function span(table: PlacedTable, axis: KeyAxis, width: number): [x: number, across: number] {
  const [from, to] = axis.span(table);
  return [from * width, (to - from) * width];
}

/** The columns of pixels that a narrow table covers. */
function columns(x: number, across: number): [first: number, last: number] {
  const first = Math.floor(x);
  return [first, Math.max(Math.ceil(x + across) - 1, first)];
}

function highest(skyline: Float64Array, x: number, across: number): number {
  const [first, last] = columns(x, across);
  let height = LEAST_HEIGHT;
  for (let at = first; at <= last; at++) height = Math.max(height, skyline[at] ?? 0);
  return height;
}
