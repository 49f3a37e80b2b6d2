/** The picture of a tree for other places, with its levels, key axis, legend, moment and link. */

import { hatch, line, outline, type Pen } from "./marks.ts";
import type { Palette } from "./palette.ts";
import type { Picture } from "./picture.ts";

/** Words around a picture. */
export interface Caption {
  /** Sentence of the moment, and the moment itself. */
  title: string;
  moment: string;
  /** Sentence of what is watched, if something is. */
  watched: string | undefined;
  /** Lines beside a level, or another band of the picture, and the level's colour. */
  names: readonly { top: number; name: string; size: string; colour: string | undefined }[];
  /** Keys, by their share of the picture's width. */
  ticks: readonly { at: number; text: string }[];
  /** Link to the moment, if one leads to it. */
  link: string | undefined;
}

/** Room around the picture, in pixels. */
const [LEFT, TOP, RIGHT, BOTTOM] = [152, 72, 16, 64];
const LINE = 15;
/** Least distance of the last key from the one before, in pixels. */
const TICK_GAP = 8;
const FAMILY = "'Barlow Semi Condensed', sans-serif";

/** Puts a picture in a frame with its words. */
export function framed(
  { width, height, draw }: Picture,
  caption: Caption,
  palette: Palette,
): Picture {
  const top = TOP + (caption.watched === undefined ? 0 : LINE);
  const [wide, tall] = [LEFT + width + RIGHT, top + height + BOTTOM];
  return {
    width: wide,
    height: tall,
    draw(pen) {
      pen.fillStyle = palette.page;
      pen.fillRect(0, 0, wide, tall);
      pen.save();
      pen.translate(LEFT, top);
      draw(pen);
      pen.restore();
      write(pen, caption.title, LEFT, 24, `600 18px ${FAMILY}`, palette.ink);
      write(pen, caption.moment, LEFT, 24 + LINE + 3, `13px ${FAMILY}`, palette.ink2);
      const watched = caption.watched ?? "";
      write(pen, watched, LEFT, 24 + 2 * LINE + 3, `13px ${FAMILY}`, palette.ink);
      drawTicks(pen, caption.ticks, { width, top }, palette);
      for (const { top: below, name, size, colour } of caption.names) {
        const y = top + below + 12;
        if (colour !== undefined) {
          pen.fillStyle = colour;
          pen.fillRect(16, y - 9, 9, 9);
        }
        write(pen, name, 32, y, `600 13px ${FAMILY}`, palette.ink);
        write(pen, size, 32, y + LINE, `12px ${FAMILY}`, palette.ink2);
      }
      drawLegend(pen, palette, top + height + 18);
      drawLink(pen, caption.link, wide, top + height + 18 + LINE, palette);
    },
  };
}

function write(pen: Pen, text: string, x: number, y: number, font: string, colour: string): void {
  pen.font = font;
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

/** Draws keys beside their lines: the last one ends at its line, and the others start there where they have room. */
function drawTicks(
  pen: Pen,
  ticks: Caption["ticks"],
  { width, top }: { width: number; top: number },
  palette: Palette,
): void {
  pen.font = `12px ${FAMILY}`;
  const last = ticks.at(-1);
  const room = width - (last === undefined ? 0 : pen.measureText(last.text).width + 3);
  for (const tick of ticks) {
    const x = LEFT + tick.at * width;
    line(pen, [x, top - 10], [x, top], palette.ink3, 0.75);
    const long = pen.measureText(tick.text).width;
    const [left, right] = tick === last ? [room, room] : [tick.at * width + 3, room - TICK_GAP];
    if (tick === last || left + long <= right)
      write(pen, tick.text, LEFT + left, top - 3, `12px ${FAMILY}`, palette.ink2);
  }
}

function drawLegend(pen: Pen, palette: Palette, y: number): void {
  const box = (x: number) => ({ x, y: y - 9, width: 16, height: 9 });
  const marks: [string, (x: number) => void][] = [
    ["read by a merge, still on disk", (x) => hatch(pen, box(x), palette.ink3)],
    ["at work", (x) => outline(pen, box(x), palette.live, 1.5)],
    [
      "capacity, spread evenly",
      (x) => line(pen, [x, y - 4], [x + 16, y - 4], palette.ink3, 1.5, [1.5, 3]),
    ],
    ["area: bytes; width: keys; newer above", () => undefined],
  ];
  let x = LEFT;
  for (const [text, mark] of marks) {
    mark(x);
    write(pen, text, x + 22, y, `12px ${FAMILY}`, palette.ink2);
    x += 22 + pen.measureText(text).width + 16;
  }
}

/** A link has no spaces to break at: it is cut where a line is full. */
function drawLink(
  pen: Pen,
  link: string | undefined,
  width: number,
  top: number,
  palette: Palette,
): void {
  pen.font = `10px ${FAMILY}`;
  let [rest, y] = [link ?? "", top];
  while (rest !== "") {
    let end = rest.length;
    while (end > 1 && pen.measureText(rest.slice(0, end)).width > width - 32) end -= 1;
    write(pen, rest.slice(0, end), 16, y, `10px ${FAMILY}`, palette.ink3);
    [rest, y] = [rest.slice(end), y + 12];
  }
}
