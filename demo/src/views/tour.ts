/** The first minute: five sentences, each at a moment of the recording that shows it. */

import type { Timeline } from "../timeline/timeline.ts";

/** A sentence of the tour. */
export interface Stop {
  sentence: string;
  /** Moment in microseconds, and the table to look at; undefined if the recording has no such moment so far. */
  at: { micros: number; table: number | undefined } | undefined;
}

/** Returns the stops of a tour through what is known of a recording. */
export function tourOf(timeline: Timeline): Stop[] {
  const found = momentsOf(timeline);
  return [
    {
      sentence:
        "A table is a file of sorted keys. Its width shows its keys, and its area its bytes.",
      at: found.table,
    },
    {
      sentence:
        "Tables side by side are a run. A level has one run or several, with newer runs above.",
      at: found.run,
    },
    {
      sentence:
        "Writes gather in a memtable. Once it is full, a flush writes it as a new run of level 0.",
      at: found.flush,
    },
    {
      sentence:
        "A full level is merged down. Red tables are being read; hatched ones are read and still on disk.",
      at: found.merge,
    },
    {
      sentence:
        "A table that overlaps no other of its compaction moves down without being rewritten: a trivial move.",
      at: found.move,
    },
  ];
}

type Moments = Record<"table" | "run" | "flush" | "merge" | "move", Stop["at"]>;

/** Levels that the tree should have by then: a first tree is too small to see anything. */
const ENOUGH = 3;

function momentsOf(timeline: Timeline): Moments {
  const found: Moments = {
    table: undefined,
    run: undefined,
    flush: undefined,
    merge: undefined,
    move: undefined,
  };
  const { works } = timeline.history;
  const spans = works.flatMap(({ from, to, level }) =>
    to === undefined ? [] : [{ from, to, level }],
  );
  // The first of the largest levels that is seen for long.
  const longest = spans.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0];
  if (longest !== undefined)
    found.merge = { micros: Math.round((longest.from + longest.to) / 2), table: undefined };
  for (const event of timeline.events(0, timeline.length)) {
    const { micros } = event;
    if (event.type === "group-installed") {
      const table = event.outputs[0]?.id;
      if (event.level >= ENOUGH - 1) found.table ??= { micros, table };
      if (event.outputs.length > 1 && event.level >= ENOUGH - 1) found.run ??= { micros, table };
      if (event.moved) found.move ??= { micros, table };
    } else if (event.type === "flushed" && found.table !== undefined) {
      found.flush ??= { micros, table: event.tables[0]?.id };
    }
  }
  found.run ??= found.table;
  return found;
}
