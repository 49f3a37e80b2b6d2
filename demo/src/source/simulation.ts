/** A simulated recording. */

import { Timeline } from "../timeline/timeline.ts";
import { tooLarge, tooMuch } from "./bounds.ts";
import { configOf, type Settings, simulatedPolicy } from "./settings.ts";
import type { Options, Recording, Status } from "./recording.ts";
import { simulatorModule } from "./simulator-module.ts";
import type { Start, Told } from "./simulation-worker.ts";
import { parseEvents } from "./event-log.ts";
import { placesOf, type ReadPath, type Wanted } from "./read-path.ts";
import type { Question, Reply } from "./reading-worker.ts";
import { messageOf } from "../message.ts";

const startWorker = () =>
  new Worker(new URL("./simulation-worker.ts", import.meta.url), { type: "module" });

/** A worker that was started before there was a simulation. */
let prepared: Worker | undefined;

/** Starts loading what the first simulation needs. */
export function prepareSimulation(): void {
  prepared ??= startWorker();
  // The next caller gets the error if it fails.
  simulatorModule().catch(() => undefined);
}

/** A simulation that runs in a worker of its own, ahead of the visitor. */
export class SimulatedRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  status: Status = { at: "running", share: 0 };
  readonly ended: Promise<void>;
  readonly readsBack: boolean = true;
  #worker: Worker | undefined;
  #reader: Worker | undefined;
  #stopped = false;
  /** Characters of its events. */
  #held = 0;
  readonly #changed: () => void;
  #settle: () => void = () => undefined;

  /** Starts it; `changed` is called whenever there is more of it. */
  constructor(settings: Settings, changed: () => void, { takeover, begin }: Options) {
    this.settings = settings;
    this.#changed = changed;
    this.ended = new Promise((settle) => (this.#settle = settle));
    const refused = tooLarge(settings);
    if (refused !== undefined) {
      queueMicrotask(() => this.#end({ at: "failed", error: refused }));
      return;
    }
    const config = JSON.stringify(configOf(takeover?.settings ?? settings));
    const policy = JSON.stringify(simulatedPolicy(settings));
    const then = takeover && { micros: takeover.at, policy };
    if (begin === undefined) this.#begin(config, then);
    else void begin.then(() => this.#begin(config, then));
  }

  #begin(config: string, then: Start["then"]): void {
    if (this.#stopped) return;
    const worker = prepared ?? startWorker();
    prepared = undefined;
    worker.addEventListener("message", ({ data }: MessageEvent<Told>) => this.#hear(data));
    worker.addEventListener("error", ({ message }) => {
      this.#end({ at: "failed", error: message || "The simulator's worker did not start." });
    });
    simulatorModule().then(
      (module) => worker.postMessage({ module, config, then } satisfies Start),
      (error: unknown) => {
        const why = messageOf(error);
        this.#end({ at: "failed", error: `The simulator was not loaded: ${why}` });
      },
    );
    this.#worker = worker;
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    this.#stopped = true;
    this.#worker?.terminate();
    this.#reader?.terminate();
    this.#reader = undefined;
    this.#settle();
  }

  read(wanted: Wanted, micros: number): Promise<ReadPath> {
    const reader = (this.#reader ??= new Worker(new URL("./reading-worker.ts", import.meta.url), {
      type: "module",
    }));
    const config = JSON.stringify(configOf(this.settings));
    return new Promise((resolve, reject) => {
      reader.onmessage = ({ data }: MessageEvent<Reply>) => {
        if (data.type === "failed") reject(new Error(data.error));
        else resolve({ key: data.key, micros, places: placesOf(data.steps) });
      };
      reader.onerror = ({ message }) => {
        reject(new Error(message || "The simulator's worker did not start."));
      };
      simulatorModule().then(
        (module) => reader.postMessage({ module, config, micros, wanted } satisfies Question),
        reject,
      );
    });
  }

  #hear(told: Told): void {
    switch (told.type) {
      case "progress":
        this.#take(told);
        return;
      case "ended":
        this.#end({ at: "ended" });
        return;
      case "failed":
        this.#end({ at: "failed", error: told.error });
    }
  }

  #take({ events, operations, length }: Extract<Told, { type: "progress" }>): void {
    this.timeline.append(parseEvents(events));
    this.#held += events.length;
    const much = tooMuch(this.timeline.end, this.#held);
    if (much !== undefined) {
      const seconds = (this.timeline.duration / 1e6).toFixed(2);
      this.#end({ at: "failed", error: `This recording ends at ${seconds} s: ${much}.` });
      return;
    }
    this.status = { at: "running", share: operations / Math.max(length, 1) };
    this.#changed();
  }

  #end(status: Status): void {
    this.status = status;
    this.#worker?.terminate();
    this.#settle();
    this.#changed();
  }
}
