/** Traces, as tests read them. */

import type { Settings } from "../src/source/settings.ts";
import { type Batch, readTrace } from "../src/source/trace.ts";
import { TraceRecording } from "../src/source/trace-recording.ts";

/** All events of a trace, and the reason why it ends before the file does. */
export async function wholeTrace(file: Blob): Promise<Pick<Batch, "events" | "problem">> {
  const whole: Pick<Batch, "events" | "problem"> = { events: [], problem: undefined };
  for await (const { events, problem } of readTrace(file)) {
    whole.events.push(...events);
    whole.problem = problem;
  }
  return whole;
}

/** A recording from a trace, once all of it is read. */
export async function recorded(settings: Settings, file: Blob): Promise<TraceRecording> {
  const recording = new TraceRecording(settings, readTrace(file), () => undefined);
  await recording.ended;
  return recording;
}
