/** Pictures of levels, for the frames in which they stay as they are. */

import type { Pen } from "./marks.ts";

/** Height of a level's marks above its band, in pixels. */
const ABOVE = 8;
/** And below. */
const BELOW = 2;

/** A level's picture, and what it was made of. */
interface Picture {
  canvas: HTMLCanvasElement;
  made: readonly unknown[];
}

/** The pictures of the levels of one canvas. */
export class StillLevels {
  readonly #pictures: Picture[] = [];

  /**
   * Draws a level as `paint` does; its picture is painted again only where `of`, which is all that it
   * depends on, or its place has changed.
   */
  draw(
    pen: Pen,
    depth: number,
    { top, height, width }: { top: number; height: number; width: number },
    of: readonly unknown[],
    paint: (pen: Pen) => void,
  ): void {
    const ratio = pen.getTransform().a;
    const y = Math.floor((top - ABOVE) * ratio);
    const [wide, tall] = [
      Math.ceil(width * ratio),
      Math.ceil((height + ABOVE + BELOW) * ratio) + 1,
    ];
    // A page that is not laid out yet has no room, and a canvas without room cannot be drawn.
    if (wide === 0) return;
    const made = [wide, tall, ratio, y, ...of];
    let picture = this.#pictures[depth];
    if (picture === undefined || !sameItems(picture.made, made)) {
      const canvas = picture?.canvas ?? document.createElement("canvas");
      this.#pictures[depth] = picture = { canvas, made };
      // Setting a size clears it.
      [canvas.width, canvas.height] = [wide, tall];
      const own = canvas.getContext("2d");
      own?.setTransform(ratio, 0, 0, ratio, 0, -y);
      if (own !== null) paint(own);
    }
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(picture.canvas, 0, y);
    pen.restore();
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
