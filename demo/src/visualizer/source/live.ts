/** A recording of the engine itself, on a store of this page that is gone when the recording is. */

import { type Db, destroy, type EngineEvent, open } from "terrane";
import { Timeline } from "../timeline/timeline.ts";
import { operationsOf, type Write } from "./operations.ts";
import type { Recording, Status } from "./recording.ts";
import { liveOptions, type Settings, tooLarge } from "./settings.ts";

/** The name of the store, which one tab has at a time. */
const NAME = "visualizer";
/** Operations of a batch. */
const BATCH = 200;
/** How long nothing must happen after the last write until the recording has ended, in milliseconds. */
const QUIET = 400;

/** Removes the store of a tab that was closed in mid-run, unless another tab has it. */
export function removeRemains(): Promise<void> {
  return destroy(NAME).catch(() => undefined);
}

/** A recording on the engine. */
export class LiveRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly ended: Promise<void>;
  status: Status = { at: "running", share: 0 };
  readonly #changed: () => void;
  readonly #stopped = new AbortController();
  #heard = 0;

  /** Starts it once another has ended. */
  constructor(settings: Settings, changed: () => void, after: Promise<void> = Promise.resolve()) {
    this.settings = settings;
    this.#changed = changed;
    this.ended = after
      .then(() => this.#run())
      .then(
        () => this.#end({ at: "ended" }),
        (error: unknown) => {
          this.#end({
            at: "failed",
            error: error instanceof Error ? error.message : String(error),
          });
        },
      );
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #run(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const refused = tooLarge(this.settings);
    if (refused !== undefined) throw new Error(refused);
    const { storage, ...options } = liveOptions(this.settings);
    if (storage === "opfs") await destroy(NAME);
    const db = await open(NAME, { storage, ...options });
    try {
      const heard = this.#listen(db);
      await this.#write(db);
      await db.flush();
      await this.#quiet();
      await db.close();
      await heard;
    } finally {
      await db.close();
      if (storage === "opfs") await destroy(NAME);
    }
  }

  /** Follows the store until it is closed. */
  async #listen(db: Db): Promise<void> {
    for await (const event of db.events()) {
      if (event.type === "dropped") throw new Error(`This page missed ${event.count} events.`);
      if (event.type === "snapshot-forgotten") continue;
      this.timeline.append([event satisfies EngineEvent]);
      this.#heard = performance.now();
      this.#changed();
    }
  }

  async #write(db: Db): Promise<void> {
    const total = this.settings.load + this.settings.operations;
    let [batch, done]: [Write[], number] = [[], 0];
    for (const operation of operationsOf(this.settings)) {
      done += 1;
      if (operation.type === "get") await db.get(operation.key);
      else if (batch.push(operation) === BATCH) {
        await db.batch(batch);
        batch = [];
        this.status = { at: "running", share: done / total };
      }
      if (this.#stopped.signal.aborted) return;
    }
    await db.batch(batch);
  }

  /** Waits until the engine has nothing left to do. */
  async #quiet(): Promise<void> {
    this.#heard = performance.now();
    const busy = () =>
      this.timeline.end.groups.length > 0 || performance.now() - this.#heard < QUIET;
    while (!this.#stopped.signal.aborted && busy()) {
      await new Promise((passed) => setTimeout(passed, QUIET / 4));
    }
  }

  #end(status: Status): void {
    this.status = status;
    this.#changed();
  }
}
