/** Draws a read: a ring where the answer was no, a diamond where a block was read for nothing. */

import type { Borehole, BoreMark } from "../layout/borehole.ts";
import type { Place } from "../source/read-path.ts";
import { line, outline, type Pen } from "./marks.ts";
import type { Palette } from "./palette.ts";
import { label, LABEL } from "./policy-marks.ts";

/** Half the size of a mark, in pixels: smaller where places lie close together. */
const SIZES = [2, 5] as const;

/** Draws a borehole; `text` says what some places have in common. */
export function drawBorehole(
  pen: Pen,
  { x, top, bottom, marks, labels }: Borehole,
  { width, palette }: { width: number; palette: Palette },
  text: ((places: readonly Place[]) => string) | undefined,
): void {
  line(pen, [x, top], [x, bottom], palette.bed, 5);
  line(pen, [x, top], [x, bottom], palette.ink, 1.5);
  const distances = marks.slice(1).map(({ y }, i) => y - (marks[i]?.y ?? y));
  const size = Math.min(Math.max(Math.min(...distances) / 2, SIZES[0]), SIZES[1]);
  for (const mark of marks) drawMark(pen, x, mark, size, palette);
  if (text === undefined) return;
  pen.font = LABEL;
  for (const { y, places } of labels) {
    const words = text(places);
    const wide = pen.measureText(words).width;
    // Beside it, where there is room.
    const at = x + 14 + wide < width ? x + 14 : Math.max(x - 14 - wide, 2);
    label(pen, words, at, y + 4, palette.ink, palette.bed);
  }
}

function drawMark(pen: Pen, x: number, mark: BoreMark, size: number, palette: Palette): void {
  const { y, place } = mark;
  pen.fillStyle = palette.bed;
  pen.strokeStyle = palette.ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  if (place.verdict === "found" || place.verdict === "operand") {
    pen.fillStyle = palette.ink;
    pen.fillRect(x - size, y - size, 2 * size, 2 * size);
    outline(pen, { x: x - size, y: y - size, width: 2 * size, height: 2 * size }, palette.bed, 1);
    return;
  }
  if (place.verdict === "deleted") {
    line(pen, [x - size, y - size], [x + size, y + size], palette.ink, 2.5);
    line(pen, [x - size, y + size], [x + size, y - size], palette.ink, 2.5);
    return;
  }
  if (place.verdict === "wasted") {
    const reach = size + 1.5;
    pen.moveTo(x, y - reach);
    for (const [u, v] of [
      [reach, 0],
      [0, reach],
      [-reach, 0],
    ] as const) {
      pen.lineTo(x + u, y + v);
    }
    pen.closePath();
  } else pen.arc(x, y, size - 0.5, 0, 2 * Math.PI);
  pen.fill();
  pen.stroke();
}
