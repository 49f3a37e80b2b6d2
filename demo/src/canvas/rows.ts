/** Draws runs: what is the same in many tables is drawn at once. */

import type { KeyAxis } from "../layout/key-axis.ts";
import type { PrefixRule } from "../layout/policy-marks.ts";
import type { Row, TableBox } from "../layout/rows.ts";
import type { Arrival } from "../timeline/state.ts";
import { outlineAll, type Pen, tombstones } from "./marks.ts";
import { keyline, levelColour, type Palette } from "./palette.ts";
import { drawFilters, drawPrefixes } from "./policy-marks.ts";

/** The edge of a table, in pixels. */
export const EDGE = 0.75;
/** Lightness added to new tables. */
const VEIL = 0.18;
/** Offset of the line over a new table, and its width, in pixels. */
const NEW = 1.5;
/** The width of the line around a moved table, and its dashes. */
const MOVED = { width: 1.5, dashes: [4, 3] };

/** Style of rows. */
export interface RowStyle {
  palette: Palette;
  axis: KeyAxis;
  width: number;
  /** Whether filters and prefixes are left out. */
  small: boolean;
  prefixes: PrefixRule | undefined;
  /** The compaction whose outputs are new, and whose moves are marked. */
  fresh: number | undefined;
}

/** Draws a run without the tables that are `apart`. */
export function drawRow(pen: Pen, row: Row, apart: ReadonlySet<TableBox>, style: RowStyle): void {
  pen.fillStyle = levelColour(style.palette, row.level);
  fillSkyline(pen, row);
  drawTables(pen, apart.size === 0 ? row.wide : row.wide.filter((box) => !apart.has(box)), style);
  const narrow = row.wide.length < row.tables.length && hasFresh(row, style.fresh);
  if (narrow) drawFresh(pen, freshColumns(row, style), style.palette);
}

/** Draws tables of one level, one by one. */
export function drawTables(pen: Pen, boxes: readonly TableBox[], style: RowStyle): void {
  const [first] = boxes;
  if (first === undefined) return;
  const { palette } = style;
  pen.fillStyle = keyline(palette, first.level);
  for (const { x, y, width, height } of boxes) pen.fillRect(x, y, width, height);
  pen.fillStyle = levelColour(palette, first.level);
  for (const { x, y, width, height } of boxes) {
    pen.fillRect(
      x + EDGE,
      y + EDGE,
      Math.max(width - 2 * EDGE, 0),
      Math.max(height - 2 * EDGE, EDGE),
    );
  }
  drawFresh(
    pen,
    boxes.filter((box) => isFresh(box, style.fresh, "merged")),
    palette,
  );
  if (!style.small) {
    drawMoved(
      pen,
      boxes.filter((box) => isFresh(box, style.fresh, "moved")),
      palette,
    );
  }
  if (!style.small) drawFilters(pen, boxes, palette);
  if (!style.small && style.prefixes !== undefined) {
    for (const box of boxes) drawPrefixes(pen, box, style.prefixes, style.axis, style);
  }
  for (const box of boxes) {
    const { tombstones: dead, entries } = box.table;
    if (dead > 0) tombstones(pen, box, dead / Math.max(entries, 1), palette.bed);
  }
}

/** The narrow tables of a run, as one shape. */
function fillSkyline(pen: Pen, { skyline, bottom }: Row): void {
  pen.beginPath();
  let above = 0;
  for (let x = 0; x <= skyline.length; x++) {
    const height = skyline[x] ?? 0;
    if (height === above) continue;
    if (above === 0) pen.moveTo(x, bottom);
    else pen.lineTo(x, bottom - above);
    pen.lineTo(x, bottom - height);
    if (height === 0) pen.closePath();
    above = height;
  }
  pen.fill();
}

/** Whether a run has tables that the latest compaction wrote, or moved. */
export function hasFresh({ tables }: Row, fresh: number | undefined): boolean {
  return tables.some(({ arrival, compaction }) => compaction === fresh && arrival !== "flushed");
}

/** Whether a table came to its place in this way by the latest compaction. */
function isFresh(
  { table }: Pick<TableBox, "table">,
  fresh: number | undefined,
  arrival: Arrival,
): boolean {
  return table.compaction === fresh && table.arrival === arrival;
}

/** The new ones among the narrow tables of a run, each column of pixels once. */
function freshColumns(row: Row, { fresh }: RowStyle): TableBox[] {
  const wide = new Set(row.wide.map(({ table }) => table));
  const found: TableBox[] = [];
  for (const table of row.tables) {
    if (!isFresh({ table }, fresh, "merged") || wide.has(table)) continue;
    const box = row.box(table);
    const last = found.at(-1);
    if (last === undefined || box.x >= last.x + 1) found.push(box);
  }
  return found;
}

/** New tables are lighter, and have a line on top. */
function drawFresh(pen: Pen, boxes: readonly TableBox[], palette: Palette): void {
  if (boxes.length === 0) return;
  const alpha = pen.globalAlpha;
  pen.globalAlpha = alpha * VEIL;
  pen.fillStyle = palette.bed;
  for (const { x, y, width, height } of boxes) pen.fillRect(x, y, width, height);
  pen.globalAlpha = alpha;
  pen.fillStyle = palette.ink;
  for (const { x, y, width } of boxes) pen.fillRect(x, y - 1.5 * NEW, width, NEW);
}

/** Draws moved tables, which are not rewritten: their edge is dashed. */
export function drawMoved(pen: Pen, boxes: readonly TableBox[], palette: Palette): void {
  if (boxes.length > 0) outlineAll(pen, boxes, palette.ink, MOVED.width, MOVED.dashes);
}
