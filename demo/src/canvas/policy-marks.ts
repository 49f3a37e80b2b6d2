/** Draws what is a policy's own: buckets, shared cuts, the border of two parts, prefixes, filters. */

import type { Bands } from "../layout/bands.ts";
import type { KeyAxis } from "../layout/key-axis.ts";
import {
  COLD,
  HOT,
  HOTTEST,
  type PolicyMarks,
  prefixesOf,
  type PrefixRule,
} from "../layout/policy-marks.ts";
import type { TableBox } from "../layout/rows.ts";
import { curve, curves, hatch, line, type Pen } from "./marks.ts";
import type { Palette } from "./palette.ts";

/** The font of what stands in the picture. */
export const LABEL = "12px 'Barlow Semi Condensed', sans-serif";
/** The length and the height of a wave, and the height of a prefix's tooth. */
const WAVE = { length: 24, height: 3 };
const TOOTH = 4;
/** The least distance of two teeth. */
const TEETH = 2.5;

/** Surface that marks are drawn on. */
interface Canvas {
  bands: Bands;
  width: number;
  palette: Palette;
}

/** Draws the marks that lie under the tables. */
export function drawBorder(pen: Pen, { border }: PolicyMarks, { width, palette }: Canvas): void {
  if (border === undefined) return;
  pen.font = LABEL;
  const text = "horizontal part above, vertical part below";
  const at = width - 6 - pen.measureText(text).width;
  // The wave ends where the text starts.
  const points = Array.from({ length: Math.max(Math.floor(at / 2) - 1, 2) }, (_, i) => {
    return [i * 2, border + Math.sin((i * 4 * Math.PI) / WAVE.length) * WAVE.height] as const;
  });
  curve(pen, points, palette.ink2, 1.5);
  label(pen, text, at, border + 4, palette.ink2, palette.bed);
}

/** Text in free space: what lies under it does not show. */
export function label(
  pen: Pen,
  text: string,
  x: number,
  y: number,
  ink: string,
  bed: string,
): void {
  pen.font = LABEL;
  pen.fillStyle = bed;
  pen.fillRect(x - 3, y - 10, pen.measureText(text).width + 6, 13);
  pen.fillStyle = ink;
  pen.fillText(text, x, y);
}

/** Draws the marks that lie over the tables. */
export function drawMarks(pen: Pen, marks: PolicyMarks, canvas: Canvas): void {
  drawTemperatures(pen, marks, canvas);
  for (const { x, top, bottom } of marks.cuts) {
    line(pen, [x, top], [x, bottom], canvas.palette.ink2, 1);
  }
}

/** A bar for each bucket: above the upper rule it is split, below the lower one it is joined. */
function drawTemperatures(
  pen: Pen,
  { buckets }: PolicyMarks,
  { bands: { temperatures, levels }, width, palette }: Canvas,
): void {
  if (temperatures === undefined) return;
  const { top, height } = temperatures;
  const bottom = top + height;
  const y = (temperature: number) => bottom - (Math.min(temperature, HOTTEST) / HOTTEST) * height;
  buckets.forEach(({ x: start, width: all, temperature }, i) => {
    // As much of it as can be seen.
    const [x, end] = [Math.max(start, 0), Math.min(start + all, width)];
    const across = end - x;
    if (across <= 0) return;
    const bar = { x, y: y(temperature), width: Math.max(across - 1, 1), height: 0 };
    bar.height = bottom - bar.y;
    pen.fillStyle = palette.rule;
    pen.fillRect(bar.x, bar.y, bar.width, bar.height);
    if (temperature > HOT) hatch(pen, bar, palette.live);
    const level0 = levels[0];
    if (i > 0 && x === start && level0 !== undefined) {
      line(pen, [x, top], [x, level0.top + level0.height], palette.ink, 1.5);
    }
    pen.font = LABEL;
    const text = temperature.toFixed(1);
    const wide = pen.measureText(text).width;
    if (wide + 8 > across) return;
    const ink = temperature > HOT ? palette.live : palette.ink;
    label(pen, text, x + 5, Math.max(bar.y - 3, top + 10), ink, palette.bed);
  });
  if (buckets.length === 0) return;
  for (const at of [HOT, COLD]) {
    line(pen, [0, y(at)], [width, y(at)], palette.ink3, 1, [1.5, 3.5]);
  }
  line(pen, [0, bottom + 0.5], [width, bottom + 0.5], palette.ink3, 1);
}

/** The filters of tables: a dash for each key, as long as its bits. */
export function drawFilters(pen: Pen, boxes: readonly TableBox[], palette: Palette): void {
  const byBits = new Map<number, TableBox[]>();
  for (const box of boxes) {
    const bits = box.table.filterBits;
    if (bits <= 0 || box.height < 5) continue;
    const known = byBits.get(bits);
    if (known === undefined) byBits.set(bits, [box]);
    else known.push(box);
  }
  for (const [bits, boxes] of byBits) {
    const lines = boxes.map(({ x, y, width, height }) => {
      const bottom = y + height - 1.5;
      return [
        [x + 1, bottom],
        [x + width - 1, bottom],
      ] as const;
    });
    curves(pen, lines, palette.bed, 1.25, [bits, 2]);
  }
}

/** A table's prefixes: a cap over the one, or a tooth for each. */
export function drawPrefixes(
  pen: Pen,
  box: TableBox,
  rule: PrefixRule,
  axis: KeyAxis,
  { width, palette }: Omit<Canvas, "bands">,
): void {
  const prefixes = prefixesOf(box.table, rule);
  if (prefixes?.length === 1) {
    pen.fillStyle = palette.ink;
    pen.fillRect(box.x, box.y - TOOTH, box.width, TOOTH - 1);
    return;
  }
  const end = box.x + box.width;
  const places = prefixes?.map((prefix) => Math.max(axis.position(prefix) * width, box.x + 0.5));
  const few = places !== undefined && box.width / places.length >= TEETH;
  const count = Math.floor(box.width / TEETH);
  const teeth = few ? places : Array.from({ length: count }, (_, i) => box.x + i * TEETH);
  pen.fillStyle = palette.ink;
  for (const x of teeth) if (x < end) pen.fillRect(x - 0.5, box.y - TOOTH, 1, TOOTH);
}
