/**
 * A recording of a process that runs, whose events `terrane serve` or `terrane shell --events` sends.
 *
 * 1. The first event is the process's tree, and those that follow change it.
 * 2. When the stream ends, it is connected to again, at growing intervals: the process sends its tree anew.
 * 3. A server answers more: the names of its keyspaces, and reads.
 */

import type { RecordedEvent, ShapeEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import { tooMuch } from "./bounds.ts";
import { readEvent } from "./event-log.ts";
import { readKey } from "./reading.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import type { Attached, Recording, Status } from "./recording.ts";
import { keyspaceAt, keyspacesAt, remoteReader } from "./remote.ts";
import { type Settings, UNKNOWN, withPolicy } from "./settings.ts";

/** Path of events, if only a machine and a port are given. */
const PATH = "/events";

/** Time between two updates of the page while no event arrives, in milliseconds. */
const TICK = 500;

/** Shortest and longest time until a stream that has ended is connected to again, in milliseconds. */
const [RETRY_MIN, RETRY_MAX] = [1000, 30_000];

/** The sentence while a stream is not connected. */
const LOST = "The connection is lost. This is the tree as last reported.";

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
        resolve(new AttachedRecording(address, stream, shape, settings, changed));
      } catch (error) {
        failed(`What comes from ${address} is no tree: ${(error as Error).message}.`);
      }
    };
  });
}

/** A recording that continues for as long as the process does. */
export class AttachedRecording implements Recording, Attached {
  settings: Settings;
  readonly timeline: Timeline = new Timeline();
  status: Status = { at: "running", share: undefined };
  readonly ended: Promise<void>;
  readonly readsBack: boolean = false;
  readonly address: string;
  readonly keyspace: string | undefined;
  keyspaces: readonly string[] = [];
  lost = false;
  #stream: EventSource;
  readonly #changed: () => void;
  #settle: () => void = () => undefined;
  /** The process's time at the recording's start, in microseconds. */
  #began = 0;
  /** Characters of the events so far. */
  #held = 0;
  /** Time of this page at the last message, in milliseconds. */
  #lastMessage = 0;
  /** Timer of updates while no event arrives, since rates are those of the last second. */
  readonly #ticking: ReturnType<typeof setInterval>;
  /** Timer of the next connection, and the time until the one after it, in milliseconds. */
  #retrying: ReturnType<typeof setTimeout> | undefined;
  #wait = RETRY_MIN;

  constructor(
    address: string,
    stream: EventSource,
    shape: ShapeEvent,
    settings: Settings,
    changed: () => void,
  ) {
    this.settings = withPolicy(settings, shape.policy ?? UNKNOWN);
    this.address = address;
    this.keyspace = shape.name;
    this.#stream = stream;
    this.#changed = changed;
    this.ended = new Promise((settle) => (this.#settle = settle));
    this.#receive(shape);
    this.#listen(stream);
    this.#ticking = setInterval(() => this.status.at === "running" && changed(), TICK);
    void this.#learnKeyspaces();
  }

  get attached(): Attached {
    return this;
  }

  /** The time of the process now, by this page's clock. */
  get now(): number {
    const { duration, end } = this.timeline;
    if (this.status.at !== "running" || end.detached) return duration;
    return duration + (performance.now() - this.#lastMessage) * 1000;
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    clearInterval(this.#ticking);
    clearTimeout(this.#retrying);
    this.#stream.close();
    this.#settle();
  }

  addressOf(keyspace: string): string {
    return `${keyspaceAt(new URL(this.address).origin, keyspace)}/events`;
  }

  reconnect(): void {
    if (this.status.at !== "running" || !this.lost) return;
    clearTimeout(this.#retrying);
    this.#stream.close();
    this.#stream = new EventSource(this.address);
    this.#listen(this.#stream);
  }

  read(wanted: Wanted): Promise<ReadPath> {
    if (this.keyspace === undefined || this.keyspaces.length === 0) {
      const why = "Events carry no keys. Attach to `terrane serve` to read them.";
      return Promise.reject(new Error(why));
    }
    const keyspace = keyspaceAt(new URL(this.address).origin, this.keyspace);
    return readKey(remoteReader(keyspace), wanted, this.timeline.end);
  }

  /** Asks for the names of the keyspaces, which a shell does not have. */
  async #learnKeyspaces(): Promise<void> {
    try {
      this.keyspaces = await keyspacesAt(new URL(this.address).origin);
      this.#changed();
    } catch {
      // There is this one.
    }
  }

  #listen(stream: EventSource): void {
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      try {
        this.#receive(readEvent(data));
        this.#held += data.length;
        const much = tooMuch(this.timeline.end, this.#held);
        if (much === undefined) return;
        stream.close();
        this.#end(`No more is shown of this process: ${much}. Attach again to continue.`);
      } catch (error) {
        stream.close();
        this.#end(`An event of the process cannot be read: ${(error as Error).message}.`);
      }
    };
    stream.onerror = () => this.#lose(stream);
  }

  /** Notes that a stream has ended. A browser connects again by itself, unless it was refused. */
  #lose(stream: EventSource): void {
    if (stream !== this.#stream || this.status.at !== "running") return;
    this.#detach();
    this.lost = true;
    this.status = { at: "running", share: undefined, preparing: LOST };
    if (stream.readyState === EventSource.CLOSED) {
      clearTimeout(this.#retrying);
      this.#retrying = setTimeout(() => this.reconnect(), this.#wait);
      this.#wait = Math.min(this.#wait * 2, RETRY_MAX);
    }
    this.#changed();
  }

  #receive(event: RecordedEvent): void {
    // Another process may have started to count anew.
    if (event.type === "shape") this.#began = event.micros - this.timeline.duration;
    const micros = Math.max(event.micros - this.#began, this.timeline.duration);
    this.timeline.append([{ ...event, micros }]);
    this.#lastMessage = performance.now();
    if (event.type === "shape") {
      this.status = { at: "running", share: undefined };
      this.lost = false;
      this.#wait = RETRY_MIN;
    }
    if (event.type === "shape" || event.type === "policy-changed")
      this.settings = withPolicy(this.settings, event.policy ?? UNKNOWN);
    this.#changed();
  }

  /** Notes that the process reports no more. */
  #detach(): void {
    if (!this.timeline.end.detached) {
      this.timeline.append([{ type: "detached", micros: Math.round(this.now) }]);
    }
  }

  #end(error: string): void {
    clearInterval(this.#ticking);
    clearTimeout(this.#retrying);
    this.#detach();
    this.status = { at: "failed", error };
    this.#settle();
    this.#changed();
  }
}
