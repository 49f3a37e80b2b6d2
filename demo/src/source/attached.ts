/** A recording of a process that runs, whose events `terrane serve` or `terrane shell --events` sends. */

import type { RecordedEvent, ShapeEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import { readEvent } from "./event-log.ts";
import type { ReadPath } from "./read-path.ts";
import type { Recording, Status } from "./recording.ts";
import { describe, type Settings } from "./settings.ts";

/** Path of events, if only a machine and a port are given. */
const PATH = "/events";

/** The address of an event stream: `localhost:4540` is enough. */
export function addressOf(text: string): string {
  const url = new URL(/^https?:\/\//.test(text) ? text : `http://${text}`);
  if (url.pathname === "/") url.pathname = PATH;
  return url.href;
}

/** Attaches to an event stream, once its tree has come; `changed` is called whenever there is more. */
export function attach(
  address: string,
  settings: Settings,
  changed: () => void,
): Promise<AttachedRecording> {
  const stream = new EventSource(address);
  return new Promise((resolve, reject) => {
    const failed = (why: string) => {
      stream.close();
      reject(new Error(why));
    };
    stream.onerror = () => {
      failed(
        `No events come from ${address}. Is \`terrane serve\` or \`terrane shell --events\` running there, ` +
          `with --allow-origin ${location.origin}?`,
      );
    };
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      try {
        const shape = readEvent(data);
        if (shape.type !== "shape") throw new Error(`the first event is ${shape.type}`);
        resolve(new AttachedRecording(stream, shape, settings, changed));
      } catch (error) {
        failed(`What comes from ${address} is no tree: ${(error as Error).message}.`);
      }
    };
  });
}

/** A recording that continues for as long as the process does. */
export class AttachedRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  status: Status = { at: "running", share: undefined };
  readonly ended: Promise<void>;
  readonly readsBack: boolean = false;
  readonly #stream: EventSource;
  readonly #changed: () => void;
  #settle: () => void = () => undefined;
  /** The process's time at the recording's start, in microseconds. */
  #began = 0;

  constructor(stream: EventSource, shape: ShapeEvent, settings: Settings, changed: () => void) {
    const { policy } = shape.policy;
    const known = describe(policy) === undefined ? {} : { policy };
    this.settings = { ...settings, ...known, parameters: {} };
    this.#stream = stream;
    this.#changed = changed;
    this.ended = new Promise((settle) => (this.#settle = settle));
    this.#hear(shape);
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      try {
        this.#hear(readEvent(data));
      } catch (error) {
        stream.close();
        this.#end(`An event of the process cannot be read: ${(error as Error).message}.`);
      }
    };
    // Where it tries again by itself, the tree comes again.
    stream.onerror = () => {
      if (stream.readyState === EventSource.CLOSED) this.#end("The process sends no more events.");
    };
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    this.#stream.close();
    this.#settle();
  }

  read(): Promise<ReadPath> {
    return Promise.reject(
      new Error("Events tell what happens to tables, and have no keys to read."),
    );
  }

  #hear(event: RecordedEvent): void {
    // Another process may have started to count anew.
    if (event.type === "shape") this.#began = event.micros - this.timeline.duration;
    const micros = Math.max(event.micros - this.#began, this.timeline.duration);
    this.timeline.append([{ ...event, micros }]);
    this.#changed();
  }

  #end(error: string): void {
    this.status = { at: "failed", error };
    this.#settle();
    this.#changed();
  }
}
