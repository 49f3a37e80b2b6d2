/** The axis of a figure, on which equal distances are equal ratios. */

/** An axis, with places in shares of its width. */
export interface Axis {
  at: (value: number) => number;
  ticks: readonly number[];
}

/** Room at the ends, as a share of the width: a mark has a radius, and a label a width. */
const MARGIN = 0.06;

/** Leading digits of ticks: as many as there is room for. */
const LEADING = [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]] as const;

/** The most ticks. */
const TICKS_MAX = 6;

/** Least ratio of the ends. */
const RATIO_MIN = 3;

/** Returns the axis of positive numbers. */
export function axisOf(values: readonly number[]): Axis {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  // Numbers that are alike stand in the middle.
  const wider = Math.sqrt(Math.max(RATIO_MIN / (most / least), 1));
  const from = Math.log(least / wider);
  const width = Math.log(most * wider) - from;
  const at = (value: number) => MARGIN + ((Math.log(value) - from) / width) * (1 - 2 * MARGIN);
  const inside = (value: number) => at(value) >= MARGIN / 2 && at(value) <= 1 - MARGIN / 2;
  const choices = LEADING.map((leading) => decades(least, most, leading).filter(inside));
  const ticks = choices.find(({ length }) => length <= TICKS_MAX) ?? [];
  return { at, ticks };
}

function decades(least: number, most: number, leading: readonly number[]): number[] {
  const from = Math.floor(Math.log10(least)) - 1;
  const count = Math.ceil(Math.log10(most)) - from + 1;
  return Array.from({ length: count }, (_, i) => from + i).flatMap((power) =>
    leading.map((digit) => Number(`${digit}e${power}`)),
  );
}
