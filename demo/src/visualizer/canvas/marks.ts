/** The marks of the picture: hatching, dots, edges. */

import type { Box } from "../layout/strata.ts";

/** The distance of the lines of a hatching, in pixels. */
const HATCH = 5;
/** The distance of the dots of a table that is all tombstones. */
const DOTS = 4;

/** What a canvas is drawn on with. */
export type Pen = CanvasRenderingContext2D;

/** Lines at 45 degrees over a box: read, and still on disk. */
export function hatch(pen: Pen, { x, y, width, height }: Box, colour: string): void {
  if (width <= 0 || height <= 0) return;
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  // Lines of all boxes continue each other.
  const first = Math.floor((x - y - height) / HATCH) * HATCH;
  for (let at = first; at < x + width - y + HATCH; at += HATCH) {
    pen.moveTo(at + y, y);
    pen.lineTo(at + y + height, y + height);
  }
  pen.stroke();
  pen.restore();
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
  { x, y, width, height }: Box,
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  const half = lineWidth / 2;
  const [across, down] = [Math.max(width - lineWidth, 0), Math.max(height - lineWidth, 0)];
  stroked(pen, colour, lineWidth, dashes, () => pen.strokeRect(x + half, y + half, across, down));
}

/** A line through points. */
export function curve(
  pen: Pen,
  points: readonly (readonly [x: number, y: number])[],
  colour: string,
  lineWidth: number,
  dashes: number[] = [],
): void {
  stroked(pen, colour, lineWidth, dashes, () => {
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
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
