/** A recording of the engine itself, on a store of this page that is gone when the recording is. */

import { type Db, destroy, type EngineEvent, open } from "terrane";
import { Timeline } from "../timeline/timeline.ts";
import { operationsOf, type Write } from "./operations.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import { readKey } from "./reading.ts";
import type { Options, Recording, Status, Takeover } from "./recording.ts";
import { liveOptions, livePolicy, type Settings, tooLarge } from "./settings.ts";

/** The names of the stores, each of which one tab has at a time: of what is shown, and of its rivals. */
const NAMES = ["visualizer", "visualizer-rival-1", "visualizer-rival-2"] as const;
/** Operations of a batch. */
const BATCH = 200;
/** How long nothing must happen after the last write until the recording has ended, in milliseconds. */
const QUIET = 400;

/** Removes the stores of a tab that was closed in between, unless another tab has them. */
export async function removeRemains(): Promise<void> {
  for (const name of NAMES) await destroy(name).catch(() => undefined);
}

/** A recording on the engine. */
export class LiveRecording implements Recording {
  readonly settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly ended: Promise<void>;
  readonly closed: Promise<void>;
  readonly readsBack: boolean = false;
  status: Status = { at: "running", share: 0 };
  readonly #changed: () => void;
  readonly #stopped = new AbortController();
  readonly #name: string;
  readonly #rows: readonly Write[] | undefined;
  #takeover: Takeover | undefined;
  #db: Db | undefined;
  #end: () => void = () => undefined;
  #heard = 0;

  /** Starts it once others are gone. A rival's store is closed when it has ended. */
  constructor(
    settings: Settings,
    changed: () => void,
    after: Promise<void>,
    { rival = 0, rows, takeover }: Options,
  ) {
    this.settings = settings;
    this.#takeover = takeover;
    this.#rows = rows;
    this.#changed = changed;
    this.#name = NAMES[rival] ?? NAMES[0];
    this.ended = new Promise((ended) => (this.#end = ended));
    const failed = (error: unknown) => {
      this.#tell({ at: "failed", error: error instanceof Error ? error.message : String(error) });
    };
    this.closed = after
      .then(() => this.#run(rival > 0))
      .catch(failed)
      .finally(() => this.#end());
  }

  stop(): void {
    this.#stopped.abort();
  }

  async read(wanted: Wanted): Promise<ReadPath> {
    const db = this.#db;
    if (db === undefined) throw new Error("The store is not open.");
    return readKey(db, wanted, this.timeline.end);
  }

  async #run(closes: boolean): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const refused = tooLarge(this.settings);
    if (refused !== undefined) throw new Error(refused);
    const { storage, ...options } = liveOptions(this.#takeover?.settings ?? this.settings);
    if (storage === "opfs") await destroy(this.#name);
    const db = await open(this.#name, { storage, ...options });
    this.#db = db;
    try {
      const heard = this.#listen(db);
      await this.#write(db);
      await db.flush();
      await this.#quiet();
      this.#tell({ at: "ended" });
      if (!closes) await this.#untilStopped();
      await db.close();
      await heard;
    } finally {
      this.#db = undefined;
      await db.close();
      if (storage === "opfs") await destroy(this.#name);
    }
  }

  #untilStopped(): Promise<void> {
    const { signal } = this.#stopped;
    return new Promise((stopped) => {
      if (signal.aborted) stopped();
      signal.addEventListener("abort", () => stopped(), { once: true });
    });
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
    const { rate } = this.settings;
    const began = performance.now();
    let [batch, done]: [Write[], number] = [[], 0];
    for (const operation of this.#rows ?? operationsOf(this.settings)) {
      done += 1;
      if (operation.type === "get") await db.get(operation.key);
      else if (batch.push(operation) === BATCH) {
        await db.batch(batch);
        batch = [];
        await this.#takeOver(db);
        this.status = { at: "running", share: done / total };
        const early = rate === 0 ? 0 : (done / rate) * 1000 - (performance.now() - began);
        if (early > 0) await new Promise((passed) => setTimeout(passed, early));
      }
      if (this.#stopped.signal.aborted) return;
    }
    await db.batch(batch);
  }

  /** Gives the store its policy once the other's recording has come so far. */
  async #takeOver(db: Db): Promise<void> {
    const takeover = this.#takeover;
    if (takeover === undefined || this.timeline.end.totals.accepted < takeover.accepted) return;
    this.#takeover = undefined;
    await db.setPolicy(livePolicy(this.settings));
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

  #tell(status: Status): void {
    this.status = status;
    this.#changed();
    if (status.at !== "running") this.#end();
  }
}
