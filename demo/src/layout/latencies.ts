/** A chart of latencies: steps over time, on a scale of powers of ten. */

import type { OperationKind, OperationsEvent } from "../timeline/operations.ts";

/** Time that a chart shows at most, in microseconds. */
const SPAN = 120e6;
/** Longest time for which an interval is drawn, in microseconds: a longer one has a pause. */
const LONGEST = 5e6;

/** The figures that are shown. */
export const FIGURES = ["p50Micros", "p99Micros", "maxMicros"] as const;
export type Figure = (typeof FIGURES)[number];

/** A chart of one kind of operations. */
export interface LatencyChart {
  /** A path for each figure. */
  paths: Record<Figure, string>;
  /** Powers of ten, in microseconds, and their heights. */
  ticks: { micros: number; y: number }[];
}

/** Returns the chart of a kind of operations for a picture of this size, up to a moment. */
export function latencyChart(
  operations: readonly OperationsEvent[],
  kind: OperationKind,
  until: number,
  [width, height]: readonly [number, number],
): LatencyChart {
  const shown = operations.filter((event) => event[kind].count > 0 && event.micros > until - SPAN);
  const from = Math.min(...shown.map(beganAt), until);
  const length = Math.max(until - from, 1);
  const log = (micros: number) => Math.log10(Math.max(micros, 1));
  const least = Math.floor(Math.min(...shown.map((event) => log(event[kind].p50Micros)), 9));
  const most = Math.ceil(Math.max(...shown.map((event) => log(event[kind].maxMicros)), 0));
  const [low, high] = shown.length === 0 ? [0, 1] : [least, Math.max(most, least + 1)];
  const x = (micros: number) => ((micros - from) / length) * width;
  const y = (micros: number) => height - ((log(micros) - low) / (high - low)) * height;
  const path = (figure: Figure) => {
    let [steps, end] = ["", -Infinity];
    for (const event of shown) {
      const began = beganAt(event);
      const [at, tall] = [x(began).toFixed(1), y(event[kind][figure]).toFixed(1)];
      // Without operations for a while, a line would say what nobody measured.
      steps += began - end > 1 ? `M${at} ${tall}` : `V${tall}`;
      steps += `H${x(event.micros).toFixed(1)}`;
      end = event.micros;
    }
    return steps;
  };
  const powers = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return {
    paths: Object.fromEntries(FIGURES.map((figure) => [figure, path(figure)])) as Record<
      Figure,
      string
    >,
    ticks: powers.map((micros) => ({ micros, y: y(micros) })),
  };
}

/** The time from which on an interval is drawn. */
function beganAt({ micros, lastedMicros }: OperationsEvent): number {
  return micros - Math.min(lastedMicros, LONGEST);
}
