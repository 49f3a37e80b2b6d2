/** Charts of a whole recording: what each shows in a column of pixels. */

import type { Amplification } from "../timeline/amplification.ts";
import type { Sample } from "../timeline/history.ts";
import { columns } from "./tracks.ts";

/** A chart. */
export interface Chart {
  name: string;
  /** Unit of a value. */
  unit: "times" | "runs" | "bytes a second";
  /** Value of a moment's tree, if it is known of the tree alone. */
  at: ((amplification: Amplification) => number) | undefined;
  /** The values by column. */
  of(samples: readonly Sample[], duration: number, width: number): number[];
}

/** The time over which throughput is taken, in microseconds, and in columns at least. */
const WINDOW = { micros: 1e6, columns: 4 };

/** Charts beside the ribbon's tracks. */
export const CHARTS: readonly Chart[] = [
  { name: "space amplification", unit: "times", ...each(({ space }) => space) },
  { name: "read amplification", unit: "runs", ...each(({ read }) => read) },
  { name: "accepted", unit: "bytes a second", at: undefined, of: throughput },
];

function each(value: (amplification: Amplification) => number): Pick<Chart, "at" | "of"> {
  const of: Chart["of"] = (samples, duration, width) =>
    columns(samples, duration, width).map(({ amplification }) => value(amplification));
  return { at: value, of };
}

/** Bytes accepted in the time before each column. */
function throughput(samples: readonly Sample[], duration: number, width: number): number[] {
  const all = columns(samples, duration, width);
  const micros = duration / width;
  const span = Math.max(Math.ceil(WINDOW.micros / micros), WINDOW.columns);
  return all.map(({ accepted }, x) => {
    const from = Math.max(x - span, 0);
    const before = x === 0 ? 0 : (all[from]?.accepted ?? 0);
    // Where another keyspace is shown from, all is counted anew.
    return (Math.max(accepted - before, 0) / (Math.max(x - from, 1) * micros)) * 1e6;
  });
}
