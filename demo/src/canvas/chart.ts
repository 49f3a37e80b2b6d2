/** Draws charts: a line over a whole recording, beside those of rivals, and the moment. */

import type { Box } from "../layout/rows.ts";
import { curve, line, type Pen } from "./marks.ts";
import type { Palette } from "./palette.ts";

/** A chart, with a value for each column of pixels. */
export interface ChartScene {
  /** This recording's line, then those of rivals. */
  lines: readonly (readonly number[])[];
  /** The value at the upper edge; what is more is drawn there. */
  most: number;
  /** The column of the moment. */
  column: number;
}

/** A chart with its name, and what it shows at the moment. */
export interface NamedChart extends ChartScene {
  name: string;
  now: string;
}

/** Draws a chart into a box. */
export function drawChart(
  pen: Pen,
  { lines, most, column }: ChartScene,
  box: Box,
  palette: Palette,
): void {
  const bottom = box.y + box.height;
  const y = (value: number) => bottom - box.height * Math.min(value / most, 1);
  line(pen, [box.x, bottom - 0.5], [box.x + box.width, bottom - 0.5], palette.rule, 1);
  const draw = (values: readonly number[], colour: string, wide: number, dashes: number[]) => {
    const points = values.map((value, x) => [box.x + x, y(value)] as const);
    curve(pen, points, colour, wide, dashes);
  };
  lines.slice(1).forEach((of, i) => draw(of, palette.ink3, 1, i === 0 ? [1, 3] : [5, 3]));
  draw(lines[0] ?? [], palette.ink, 1.5, []);
  const x = box.x + column;
  line(pen, [x, box.y], [x, bottom], palette.live, 2);
}

/** Pixels around and between charts, and for their names and values. */
const GAP = 12;
const [NAME, VALUE] = [132, 84];

/** Returns the size of a picture of `count` charts. */
export function chartsSize(count: number, [width, height]: readonly [number, number]) {
  return {
    width: NAME + width + VALUE + 2 * GAP,
    height: count * (height + GAP) + GAP,
  };
}

/** Draws charts below each other, with their names and values. */
export function drawCharts(
  pen: Pen,
  charts: readonly NamedChart[],
  [width, height]: readonly [number, number],
  palette: Palette,
): void {
  const size = chartsSize(charts.length, [width, height]);
  pen.fillStyle = palette.page;
  pen.fillRect(0, 0, size.width, size.height);
  pen.font = "14px 'Barlow Semi Condensed', sans-serif";
  charts.forEach((chart, i) => {
    const box = { x: GAP + NAME, y: GAP + i * (height + GAP), width, height };
    drawChart(pen, chart, box, palette);
    pen.fillStyle = palette.ink2;
    pen.fillText(chart.name, GAP, box.y + height);
    pen.fillStyle = palette.ink;
    pen.fillText(chart.now, box.x + width + GAP, box.y + height);
  });
}
