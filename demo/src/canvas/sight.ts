/** Draws an arrow to what is watched. */

import { arrowTo } from "../layout/sight.ts";
import type { Box } from "../layout/rows.ts";
import { line, type Pen } from "./marks.ts";
import type { Palette } from "./palette.ts";

const FONT = "600 13px 'Barlow Semi Condensed', sans-serif";
const TEXT = "watch this";
/** Height of the label, room beside its text, and length and half the width of the arrow's head, in pixels. */
const [HEIGHT, BESIDE, HEAD, HALF] = [20, 8, 11, 5];

/** Draws the arrow to a box, from a label on free ground. */
export function drawSight(
  pen: Pen,
  box: Box,
  { width, palette }: { width: number; palette: Palette },
): void {
  pen.font = FONT;
  const size = { width: pen.measureText(TEXT).width + 2 * BESIDE, height: HEIGHT };
  const { label, from, tip } = arrowTo(box, size, { width });
  const [x, y] = tip;
  const length = Math.hypot(x - from[0], y - from[1]);
  const [u, v] = [(x - from[0]) / length, (y - from[1]) / length];
  const [neckX, neckY] = [x - u * HEAD, y - v * HEAD];
  // Ink may lie under it as well: a seam sets it off.
  line(pen, [...from], [neckX, neckY], palette.bed, 6);
  line(pen, [...from], [neckX, neckY], palette.ink, 2.5);
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(neckX - v * HALF, neckY + u * HALF);
  pen.lineTo(neckX + v * HALF, neckY - u * HALF);
  pen.closePath();
  pen.fillStyle = palette.ink;
  pen.strokeStyle = palette.bed;
  pen.lineWidth = 1;
  pen.stroke();
  pen.fill();
  pen.fillStyle = palette.bed;
  pen.fillRect(label.x - 2, label.y - 2, label.width + 4, label.height + 4);
  pen.fillStyle = palette.ink;
  pen.fillRect(label.x, label.y, label.width, label.height);
  pen.fillStyle = palette.bed;
  pen.fillText(TEXT, label.x + BESIDE, label.y + 14);
}
