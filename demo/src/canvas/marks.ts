/** The marks of the picture: hatching, dots, edges. */

import type { Box } from "../layout/rows.ts";

/** The distance of the lines of a hatching, in pixels. */
const HATCH = 5;
/** The distance of the dots of a table that is all tombstones. */
const DOTS = 4;

/** Context that a canvas is drawn with. */
export type Pen = CanvasRenderingContext2D;

/** Lines at 45 degrees over a box: read, and still on disk. */
export function hatch(pen: Pen, box: Box, colour: string): void {
  hatchAll(pen, [box], colour);
}

/** Hatches boxes, whose lines continue each other. */
export function hatchAll(pen: Pen, boxes: readonly Box[], colour: string): void {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const { x, y, width, height } of boxes) {
    if (width <= 0 || height <= 0) continue;
    // Along a line x - y is the same.
    const last = x + width - y;
    for (let at = Math.ceil((x - y - height) / HATCH) * HATCH; at < last; at += HATCH) {
      const [from, to] = [Math.max(y, x - at), Math.min(y + height, x + width - at)];
      pen.moveTo(at + from, from);
      pen.lineTo(at + to, to);
    }
  }
  pen.stroke();
}

/** Dots, as dense as the share of tombstones. */
export function tombstones(
  pen: Pen,
  { x, y, width, height }: Box,
  share: number,
  colour: string,
): void {
  const step = DOTS / Math.sqrt(Math.min(Math.max(share, 0.02), 1));
  if (step > width || height < 4) return;
  pen.fillStyle = colour;
  let odd = false;
  for (let v = y + 2; v < y + height - 1; v += step, odd = !odd) {
    for (let u = x + 2 + (odd ? step / 2 : 0); u < x + width - 1; u += step) {
      pen.fillRect(u, v, 1.4, 1.4);
    }
  }
}

/** Draws with a line of this colour, width and dashes. */
function stroked(
  pen: Pen,
  colour: string,
  lineWidth: number,
  dashes: number[],
  draw: () => void,
): void {
  pen.strokeStyle = colour;
  pen.lineWidth = lineWidth;
  pen.setLineDash(dashes);
  draw();
  pen.setLineDash([]);
}

/** The outline of a box, inside it. */
export function outline(
  pen: Pen,
  box: Box,
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  outlineAll(pen, [box], colour, lineWidth, dashes);
}

/** The outlines of boxes, inside them. */
export function outlineAll(
  pen: Pen,
  boxes: readonly Box[],
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  const half = lineWidth / 2;
  stroked(pen, colour, lineWidth, dashes, () => {
    pen.beginPath();
    for (const { x, y, width, height } of boxes) {
      const [across, down] = [Math.max(width - lineWidth, 0), Math.max(height - lineWidth, 0)];
      pen.rect(x + half, y + half, across, down);
    }
    pen.stroke();
  });
}

/** Points that a line goes through. */
type Points = readonly (readonly [x: number, y: number])[];

/** A line through points. */
export function curve(
  pen: Pen,
  points: Points,
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  curves(pen, [points], colour, lineWidth, dashes);
}

/** Lines through points, each with dashes from its start. */
export function curves(
  pen: Pen,
  lines: readonly Points[],
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  stroked(pen, colour, lineWidth, dashes, () => {
    pen.beginPath();
    for (const points of lines) {
      points.forEach(([x, y], i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
    }
    pen.stroke();
  });
}

/** A straight line. */
export function line(
  pen: Pen,
  from: [number, number],
  to: [number, number],
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  curve(pen, [from, to], colour, lineWidth, dashes);
}

/** Draws into a box, whose upper left corner is the origin, and nothing beside it. */
export function inset(pen: Pen, { x, y, width, height }: Box, draw: () => void): void {
  pen.save();
  pen.translate(x, y);
  pen.beginPath();
  pen.rect(0, 0, width, height);
  pen.clip();
  draw();
  pen.restore();
}
