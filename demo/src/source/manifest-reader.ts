/** Reads a MANIFEST in a worker: its lines are those of a trace, and are read as such. */

import type { RecordedEvent } from "../timeline/events.ts";
import { readEvent } from "./event-log.ts";
import type { ForeignFacts, ForeignSource } from "./manifest.ts";
import type { Batch } from "./trace.ts";
import createGlue from "terrane-foreign/glue.js";

/** Reads the history of a column family, batch by batch; the first has the facts. */
export async function* readManifest(
  file: Blob,
  { module, options, family }: ForeignSource,
  batch: number,
): AsyncGenerator<Batch> {
  const { initSync, ForeignHistory } = createGlue();
  initSync({ module });
  const history = new ForeignHistory(new Uint8Array(await file.arrayBuffer()), options, family);
  const facts = JSON.parse(history.about()) as ForeignFacts & { lines: number };
  let read = 0;
  let foreign: ForeignFacts | undefined = facts;
  for (let text = history.next(batch); text !== ""; text = history.next(batch)) {
    const events = text
      .trimEnd()
      .split("\n")
      .map((line): RecordedEvent => readEvent(line));
    read += events.length;
    yield { events, share: read / facts.lines, problem: undefined, ...(foreign && { foreign }) };
    foreign = undefined;
  }
  history.free();
  const end = facts.problem ?? undefined;
  const order = facts.comparator ?? undefined;
  const problems = [
    ...(order ? [`Keys are ordered by their bytes here, not by ${order}, as the store does.`] : []),
    ...(end ? [`The history ends where the file is not readable: ${end}.`] : []),
  ];
  yield { events: [], share: 1, problem: problems.length > 0 ? problems.join(" ") : undefined };
}
