/**
 * An exported store, opened by the engine in this page.
 *
 * 1. The file is imported as a store of its own, which one tab has at a time, and which is removed with the
 *    recording. The file, and other stores of this origin, stay as they are.
 * 2. What the visitor changes shows in the events that follow.
 */

import type { Db, EngineEvent, Event, TerraneError } from "terrane";
import type { ShapeEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import { engine } from "./engine.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import { readKey } from "./reading.ts";
import type { OpenStore, Recording, Status } from "./recording.ts";
import { livePolicy, type Settings, withPolicy } from "./settings.ts";
import { shapeOf } from "./shape.ts";

/** The store's name, and the lock of the tab that has it: also between an import and the opening. */
const NAME = "visualizer-import";
const LOCK = "terrane visualizer import";

/** Longest wait for another tab, in milliseconds: one that is being closed needs a moment. */
const PATIENCE = 5000;

/** Idle time is cut to this many microseconds: a visitor may think for minutes. */
const PAUSE = 250_000;

/** Removes the store of a tab that was closed in between, unless another tab has it. */
export async function removeImport(): Promise<void> {
  try {
    const { destroy } = await engine();
    await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await destroy(NAME);
    });
  } catch {
    // A later import reports the error.
  }
}

/** A recording of an imported store, which continues until it is stopped. */
export class ImportedRecording implements Recording {
  settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly ended: Promise<void>;
  readonly readsBack: boolean = false;
  status: Status;
  store: OpenStore | undefined;
  readonly #file: File;
  readonly #changed: () => void;
  readonly #stopped = new AbortController();
  #shown: Db | ReturnType<Db["keyspace"]> | undefined;
  /** The events of the keyspace that is shown, from when it was. */
  #events: AsyncGenerator<Event> | undefined;
  /** The engine's time of the last event, and what is added to it here. */
  #last = 0;
  #offset = 0;

  /** Imports the file once others are gone; `changed` is called whenever there is more to show. */
  constructor(file: File, settings: Settings, changed: () => void, after: Promise<void>) {
    this.settings = settings;
    this.#file = file;
    this.#changed = changed;
    this.status = this.#preparing("is copied", 0);
    this.ended = after.then(() => this.#run()).catch((error: unknown) => this.#fail(error));
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async read(wanted: Wanted): Promise<ReadPath> {
    if (this.#shown === undefined) throw new Error("The store is not open.");
    return readKey(this.#shown, wanted, this.timeline.end);
  }

  async #run(): Promise<void> {
    let granted = false;
    const patience = AbortSignal.timeout(PATIENCE);
    const signal = AbortSignal.any([patience, this.#stopped.signal]);
    try {
      await navigator.locks.request(LOCK, { signal }, () => {
        granted = true;
        return this.#import();
      });
    } catch (error) {
      if (granted || !patience.aborted) throw error;
      throw new Error("another tab shows an imported store; close it there first.");
    }
  }

  async #import(): Promise<void> {
    const { signal } = this.#stopped;
    if (signal.aborted) return;
    const { destroy, importStore, open } = await engine();
    await destroy(NAME);
    try {
      await importStore(NAME, this.#counted(), { signal });
      // Merges between messages, not beside them: they install nothing while the levels are asked for.
      const db = await open(NAME, { create: false, policies: "all", threads: false, signal });
      try {
        await this.#open(db);
        await new Promise<void>((stopped) => {
          if (signal.aborted) stopped();
          signal.addEventListener("abort", () => stopped(), { once: true });
        });
      } finally {
        this.store = undefined;
        this.#shown = undefined;
        await db.close().catch(() => undefined);
      }
    } finally {
      // What went wrong before says more than that this did.
      await destroy(NAME).catch(() => undefined);
    }
  }

  /** The file's bytes, and how many of them were taken. */
  #counted(): ReadableStream<Uint8Array> {
    let taken = 0;
    const count = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        taken += chunk.length;
        this.#tell(this.#preparing("is copied", taken / this.#file.size));
        controller.enqueue(chunk);
      },
      flush: () => this.#tell(this.#preparing("is verified", undefined)),
    });
    return this.#file.stream().pipeThrough(count);
  }

  async #open(db: Db): Promise<void> {
    const { keyspaces } = await db.stats();
    const size = ({ levels }: (typeof keyspaces)[number]) =>
      levels.reduce((sum, { bytes }) => sum + bytes, 0);
    // Of several, the one with most to see.
    const [largest] = keyspaces.toSorted((a, b) => size(b) - size(a));
    await this.#show(db, largest?.name ?? "default");
  }

  /** Shows a keyspace as it is, and from now on. */
  async #show(db: Db, name: string): Promise<void> {
    const { levels, policy, capacities, facts, stats, events } = await shapeOf(db, name);
    this.#shown = db.keyspace(name, { create: false });
    this.#events = events;
    this.settings = withPolicy(this.settings, policy);
    this.timeline.append([
      {
        type: "shape",
        micros: this.timeline.duration,
        policy,
        levels,
        capacities,
        facts,
      } satisfies ShapeEvent,
    ]);
    this.store = this.#control(
      db,
      name,
      stats.keyspaces.map((one) => one.name),
    );
    this.#tell({ at: "running", share: undefined });
    this.#hear(db, name, events).catch((error: unknown) => {
      this.#fail(error);
      this.stop();
    });
  }

  #control(db: Db, name: string, keyspaces: readonly string[]): OpenStore {
    const keyspace = db.keyspace(name, { create: false });
    return {
      keyspaces,
      keyspace: name,
      show: (other) => this.#show(db, other),
      put: async (key, value) => void (await keyspace.put(key, value)),
      delete: async (key) => void (await keyspace.delete(key)),
      flush: () => db.flush(),
      compact: () => keyspace.compactRange(),
      setPolicy: (settings) => keyspace.setPolicy(livePolicy(settings)),
    };
  }

  /**
   * Follows a keyspace until the store is closed, or another one is shown. If events are missing, it is shown
   * again as it is by then.
   */
  async #hear(db: Db, name: string, events: AsyncGenerator<Event>): Promise<void> {
    for await (const event of events) {
      if (this.#events !== events) return;
      if (event.type === "dropped") return this.#show(db, name);
      if (event.type === "snapshot-forgotten") continue;
      // Time starts again when a suspended page resumes, which no event reports.
      if (event.micros < this.#last) {
        this.#offset = this.timeline.duration - event.micros;
        this.#last = event.micros;
        return this.#show(db, name);
      }
      if ("keyspace" in event && event.keyspace !== name) continue;
      if (event.type === "policy-changed") this.settings = withPolicy(this.settings, event.policy);
      this.#append(event);
      this.#changed();
    }
  }

  #append(event: EngineEvent): void {
    const { duration, end } = this.timeline;
    const idle = end.groups.length === 0 && end.compactions.length === 0;
    const pause = event.micros + this.#offset - duration;
    if (idle && pause > PAUSE) this.#offset -= pause - PAUSE;
    this.#last = event.micros;
    const micros = Math.max(event.micros + this.#offset, duration);
    this.timeline.append([{ ...event, micros }]);
  }

  #preparing(what: string, share: number | undefined): Status {
    const done = share === undefined ? "" : `: ${Math.floor(share * 100)} %`;
    return { at: "running", share, preparing: `${this.#file.name} ${what}${done}.` };
  }

  #fail(error: unknown): void {
    if (this.#stopped.signal.aborted) return;
    const { name, size } = this.#file;
    const why = error instanceof Error ? error.message : String(error);
    // The package's own error names files of the store, not the one that was opened.
    const found = size === 0 ? "an empty file" : "other bytes";
    const told =
      (error as Partial<TerraneError>).code === "not-found"
        ? `${name} is not an exported store: expected a superblock at its beginning, found ${found}.`
        : `${name} cannot be shown: ${why}`;
    this.#tell({ at: "failed", error: told });
  }

  #tell(status: Status): void {
    this.status = status;
    this.#changed();
  }
}
