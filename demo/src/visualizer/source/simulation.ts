/** A simulated run: what was set, and what happened. */

import { Timeline } from "../timeline/timeline.ts";
import { configOf, type Settings } from "./settings.ts";
import type { Told } from "./simulation-worker.ts";
import { parseEvents } from "./trace.ts";

/** How far a simulation has come. */
export type Status =
  { at: "running"; share: number } | { at: "ended" } | { at: "failed"; error: string };

/** A simulation that runs in a worker of its own, ahead of the visitor. */
export class SimulatedRun {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  status: Status = { at: "running", share: 0 };
  readonly #worker: Worker;
  readonly #changed: () => void;

  /** Starts it; `changed` is called whenever there is more of it. */
  constructor(settings: Settings, changed: () => void) {
    this.settings = settings;
    this.#changed = changed;
    this.#worker = new Worker(new URL("./simulation-worker.ts", import.meta.url), {
      type: "module",
    });
    this.#worker.addEventListener("message", ({ data }: MessageEvent<Told>) => this.#hear(data));
    this.#worker.addEventListener("error", ({ message }) => {
      this.#end({ at: "failed", error: message || "The simulator's worker did not start." });
    });
    this.#worker.postMessage({ config: JSON.stringify(configOf(settings)) });
  }

  /** Ends it, wherever it is. */
  stop(): void {
    this.#worker.terminate();
  }

  #hear(told: Told): void {
    switch (told.type) {
      case "progress":
        this.timeline.append(parseEvents(told.events));
        this.status = { at: "running", share: told.operations / Math.max(told.length, 1) };
        this.#changed();
        return;
      case "ended":
        this.#end({ at: "ended" });
        return;
      case "failed":
        this.#end({ at: "failed", error: told.error });
    }
  }

  #end(status: Status): void {
    this.status = status;
    this.stop();
    this.#changed();
  }
}
