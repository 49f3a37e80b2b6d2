/** Places of names beside the dots of a plot. Where there is room, none is on a dot or on another name. */

/** A dot, in pixels. */
export interface Dot {
  x: number;
  y: number;
  r: number;
}

/** A name at its place: the left end of its baseline. */
export interface Label {
  name: string;
  x: number;
  y: number;
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Pixels of a letter, of a line, and between a dot and its name. */
const [LETTER, LINE, GAP] = [6, 13, 4];
/** Distances from a dot's own line at which a name is tried. */
const SHIFTS = [0, LINE, -LINE, 2 * LINE, -2 * LINE, 3 * LINE, -3 * LINE];

/** Places the names of dots in a plot of this width, among all its dots. */
export function placeLabels(
  named: readonly (Dot & { name: string })[],
  dots: readonly Dot[],
  width: number,
): Label[] {
  const taken: Box[] = dots.map(({ x, y, r }) => ({
    left: x - r,
    right: x + r,
    top: y - r,
    bottom: y + r,
  }));
  return named.map(({ name, x, y, r }) => {
    const long = name.length * LETTER;
    const places = SHIFTS.flatMap((shift) =>
      [x + r + GAP, x - r - GAP - long].map((left) => boxOf(left, y + shift, long)),
    );
    const free = places.find(
      (box) => box.left >= 0 && box.right <= width && !taken.some((one) => overlap(one, box)),
    );
    const box = free ?? boxOf(Math.min(x + r + GAP, width - long), y, long);
    taken.push(box);
    return { name, x: box.left, y: box.bottom - 3 };
  });
}

function boxOf(left: number, middle: number, long: number): Box {
  return { left, right: left + long, top: middle - LINE / 2, bottom: middle + LINE / 2 };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
