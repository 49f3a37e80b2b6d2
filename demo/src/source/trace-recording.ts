/** A recording from a trace, which a worker reads while the page folds its events, a batch at a time. */

import type { RecordedEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import { tooMuch } from "./bounds.ts";
import type { ReadPath } from "./read-path.ts";
import type { Recording, Status } from "./recording.ts";
import { type Settings, UNKNOWN, withPolicy } from "./settings.ts";
import type { Batch } from "./trace.ts";
import type { Next, Reply } from "./trace-worker.ts";
import { messageOf } from "../message.ts";

/** Batches that the worker is ahead of the page. */
const AHEAD = 2;

/** Reads a trace in a worker. */
export async function* readInWorker(file: File): AsyncGenerator<Batch> {
  const worker = new Worker(new URL("./trace-worker.ts", import.meta.url), { type: "module" });
  const replies: PromiseWithResolvers<Reply>[] = [];
  let heard = 0;
  worker.onmessage = ({ data }: MessageEvent<Reply>) => replies[heard++]?.resolve(data);
  worker.onerror = ({ message }) => {
    const why = message || "The worker that reads traces did not start.";
    for (const reply of replies) reply.reject(new Error(why));
  };
  const ask = () => {
    const reply = Promise.withResolvers<Reply>();
    // Replies that nobody waits for fail unheard.
    reply.promise.catch(() => undefined);
    replies.push(reply);
    worker.postMessage({ file } satisfies Next);
  };
  try {
    for (let i = 0; i < AHEAD; i++) ask();
    for (let i = 0; ; i++) {
      const reply = await replies[i]?.promise;
      if (reply?.type !== "read") throw new Error(reply?.error ?? "There is no reply.");
      if (reply.batch === undefined) return;
      ask();
      yield reply.batch;
    }
  } finally {
    worker.terminate();
  }
}

/** Interval at which the page shows what was read in between, in milliseconds: drawing it anew takes time as well. */
const SHOWN_EVERY = 500;

/** A recording from a trace. */
export class TraceRecording implements Recording {
  settings: Settings;
  readonly timeline: Timeline = new Timeline();
  status: Status = { at: "running", share: 0 };
  readonly ended: Promise<void>;
  readonly readsBack: boolean = false;
  /** Reason why the trace ends before its file does, if it does. */
  problem: string | undefined;
  #stopped = false;
  #named = false;
  readonly #changed: () => void;

  /** Takes what is read of it; `changed` is called whenever there is more. */
  constructor(settings: Settings, batches: AsyncIterable<Batch>, changed: () => void) {
    this.settings = withPolicy(settings, UNKNOWN);
    this.#changed = changed;
    this.ended = this.#take(batches).catch((error: unknown) => {
      const why = messageOf(error);
      this.status = { at: "failed", error: why };
      changed();
    });
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    this.#stopped = true;
  }

  read(): Promise<ReadPath> {
    return Promise.reject(
      new Error("A trace tells what happened to tables, and has no keys to read."),
    );
  }

  async #take(batches: AsyncIterable<Batch>): Promise<void> {
    let shown = -SHOWN_EVERY;
    for await (const { events, share, problem } of batches) {
      if (this.#stopped) return;
      this.timeline.append(events);
      this.#name(events);
      this.problem = problem ?? this.#tooMany();
      this.status = { at: "running", share };
      const now = performance.now();
      if (now - shown >= SHOWN_EVERY) {
        shown = now;
        this.#changed();
      }
      if (this.problem !== undefined) break;
    }
    this.status = { at: "ended" };
    this.#changed();
  }

  /** Takes the policy from the first event that says it. */
  #name(events: Batch["events"]): void {
    if (this.#named) return;
    const says = (event: RecordedEvent) => event.type === "header" || event.type === "shape";
    const found = events.find((event) => says(event) && "policy" in event);
    if (found === undefined || !("policy" in found) || found.policy === undefined) return;
    this.#named = true;
    this.settings = withPolicy(this.settings, found.policy);
  }

  #tooMany(): string | undefined {
    // The file's own size is bounded.
    const many = tooMuch(this.timeline.end, 0);
    const end = (this.timeline.duration / 1e6).toFixed(2);
    return many && `This trace is shown up to ${end} s: ${many}.`;
  }
}
