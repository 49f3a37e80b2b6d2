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
  /** End of the line from its dot, where the name is away from the dot or as near to another; it is at the name. */
  leader: readonly [x: number, y: number] | undefined;
}

/** A rectangle of a plot. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Pixels of a letter, of a line, and between a dot and its name. */
const [LETTER, LINE, GAP] = [5.8, 13, 4];
/** Distance of two places at which a name is tried. */
const STEP = 4;
/** Cost of a pixel downwards or upwards, beside one sideways: a name reads best on its dot's own line. */
const STEEP = 2;
/** Distance from its dot up to which a name has no line to it. */
const BESIDE = 9;
/** Cost of a place that is as near to another dot, in pixels. */
const UNCLEAR = 40;

/**
 * Places the names of dots in a plot, among all its dots.
 *
 * 1. A name is tried at every place of a grid over the plot, the nearest to its dot first, and takes the first that is
 *    free of dots, of other names and of their lines, and whose own line crosses none of them. If each line crosses
 *    something, the name takes the first free place; if none is free, the one right of its dot.
 * 2. Dots that are closest to others choose first: a dot that stands alone has room on every side.
 */
export function placeLabels(
  named: readonly (Dot & { name: string })[],
  dots: readonly Dot[],
  plot: Box,
): Label[] {
  const taken: Box[] = dots.map(({ x, y, r }) => ({
    left: x - r,
    right: x + r,
    top: y - r,
    bottom: y + r,
  }));
  const near = (one: Dot) =>
    Math.min(...dots.filter((dot) => dot.x !== one.x || dot.y !== one.y).map(apart(one)));
  const order = named.toSorted((a, b) => near(a) - near(b));
  const placed = new Map<string, Label>();
  for (const { name, ...dot } of order) {
    const long = name.length * LETTER;
    const others = dots.filter(({ x, y }) => x !== dot.x || y !== dot.y);
    const isFree = (box: Box) => !taken.some((one) => overlap(one, box));
    const free = placesOf(dot, long, plot, others).filter(({ box }) => isFree(box));
    const lines = (box: Box) => stretchOf(dot, leaderOf(dot, box, others));
    const found = free.find(({ box }) => lines(box).every(isFree)) ?? free[0];
    const box = found?.box ?? boxOf(Math.min(dot.x + dot.r + GAP, plot.right - long), dot.y, long);
    taken.push(box, ...lines(box));
    placed.set(name, {
      name,
      x: box.left,
      y: box.bottom - 3,
      leader: leaderOf(dot, box, others),
    });
  }
  return named.flatMap(({ name }) => placed.get(name) ?? []);
}

/** Room of a line from the edge of a dot to a name, as small boxes. */
function stretchOf(dot: Dot, end: Label["leader"]): Box[] {
  if (end === undefined) return [];
  const long = Math.hypot(end[0] - dot.x, end[1] - dot.y);
  const steps = Math.max(Math.floor((long - dot.r) / STEP), 0);
  return Array.from({ length: steps }, (_, i) => {
    const part = (dot.r + (i + 0.5) * STEP) / long;
    const [x, y] = [dot.x + part * (end[0] - dot.x), dot.y + part * (end[1] - dot.y)];
    return { left: x - 1, right: x + 1, top: y - 1, bottom: y + 1 };
  });
}

/** Places of a name, the best first: right beside its dot, then left of it, then ever further away. */
function placesOf(
  dot: Dot,
  long: number,
  plot: Box,
  others: readonly Dot[],
): { box: Box; cost: number }[] {
  const places: { box: Box; cost: number }[] = [];
  const add = (left: number, middle: number, extra: number) => {
    const box = boxOf(left, middle, long);
    const { left: one, right, top, bottom } = plot;
    if (box.left < one || box.right > right || box.top < top || box.bottom > bottom) return;
    const [x] = nearest(dot, box);
    const away = Math.abs(x - dot.x) + STEEP * Math.abs(middle - dot.y);
    places.push({ box, cost: away + extra + (isUnclear(dot, box, others) ? UNCLEAR : 0) });
  };
  add(dot.x + dot.r + GAP, dot.y, 0);
  add(dot.x - dot.r - GAP - long, dot.y, 1);
  for (let middle = plot.top + LINE / 2; middle <= plot.bottom - LINE / 2; middle += STEP)
    for (let left = plot.left; left <= plot.right - long; left += STEP) add(left, middle, GAP);
  return places.sort((a, b) => a.cost - b.cost);
}

/** The line from a dot to a name that is away from it, or might be another's. */
function leaderOf(dot: Dot, box: Box, others: readonly Dot[]): Label["leader"] {
  const far = gap(dot, box) > BESIDE || isUnclear(dot, box, others);
  return far ? nearest(dot, box) : undefined;
}

/** Whether another dot is as near to a name as its own. */
function isUnclear(dot: Dot, box: Box, others: readonly Dot[]): boolean {
  const own = gap(dot, box);
  return others.some((other) => gap(other, box) <= own + 1);
}

/** Distance of a dot's edge from a box. */
function gap(dot: Dot, box: Box): number {
  const [x, y] = nearest(dot, box);
  return Math.hypot(x - dot.x, y - dot.y) - dot.r;
}

/** The place of a box that is nearest to a dot. */
function nearest({ x, y }: Dot, box: Box): [x: number, y: number] {
  const within = (value: number, least: number, most: number) =>
    Math.min(Math.max(value, least), most);
  return [within(x, box.left, box.right), within(y, box.top, box.bottom)];
}

const apart = (one: Dot) => (other: Dot) => Math.hypot(one.x - other.x, one.y - other.y);

function boxOf(left: number, middle: number, long: number): Box {
  return { left, right: left + long, top: middle - LINE / 2, bottom: middle + LINE / 2 };
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
