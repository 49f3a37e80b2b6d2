/**
 * Traces: files with an event on each line.
 *
 * 1. A file is read in chunks, of which only the last line is carried over to the next.
 * 2. Events are passed on in batches, so that whoever folds them can do other work in between.
 * 3. A trace ends where it is cut short, or where a line is no event.
 */

import type { RecordedEvent } from "../timeline/events.ts";
import { bytes } from "../format.ts";
import { LINE_MAX } from "./bounds.ts";
import { readEvent } from "./event-log.ts";
import type { ForeignFacts } from "./manifest.ts";

/** Events that follow each other in a trace. */
export interface Batch {
  events: RecordedEvent[];
  /** The share of the file up to there. */
  share: number;
  /** Reason why the trace ends before its file, if it does. */
  problem: string | undefined;
  /** Facts of another engine's store besides the events, in the first batch. */
  foreign?: ForeignFacts;
}

/** The most events of a batch. */
export const BATCH = 250;

/** Reads a trace. */
export async function* readTrace(file: Blob): AsyncGenerator<Batch> {
  let events: RecordedEvent[] = [];
  let [before, number] = [0, 0];
  for await (const { lines, share } of linesOf(file)) {
    for (const line of lines) {
      number += 1;
      try {
        if (line.length > LINE_MAX) throw new Error(`it is longer than ${bytes(LINE_MAX)}`);
        if (line.trim() === "") continue;
        const event = readEvent(line);
        if (event.micros < before) throw new Error("it is earlier than the event before it");
        before = event.micros;
        events.push(event);
      } catch (error) {
        const end = `This trace ends at ${(before / 1e6).toFixed(2)} s`;
        const problem = `${end}: line ${number} is no event: ${(error as Error).message}.`;
        yield { events, share: 1, problem };
        return;
      }
      if (events.length < BATCH) continue;
      yield { events, share, problem: undefined };
      events = [];
    }
  }
  yield { events, share: 1, problem: undefined };
}

/** Returns a file's first line. */
export async function firstLine(file: Blob): Promise<string> {
  for await (const { lines } of linesOf(file)) {
    if (lines[0] !== undefined) return lines[0];
  }
  return "";
}

/** Yields the lines of a file, chunk by chunk. A line that is too long is cut once that is known. */
async function* linesOf(file: Blob): AsyncGenerator<{ lines: string[]; share: number }> {
  const decoder = new TextDecoder();
  const reader = file.stream().getReader();
  let [carried, length, read]: [string[], number, number] = [[], 0, 0];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      read += value.length;
      const lines = decoder.decode(value, { stream: true }).split("\n");
      const last = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = carried.join("") + lines[0];
        [carried, length] = [[], 0];
      }
      carried.push(last);
      length += last.length;
      if (length > LINE_MAX) lines.push(carried.join(""));
      yield { lines, share: read / file.size };
    }
    yield { lines: [carried.join("") + decoder.decode()], share: 1 };
  } finally {
    // Whoever has read enough wants no more of it.
    await reader.cancel();
  }
}
