/**
 * A recording of a store that is open in this page, as it is and as it changes.
 *
 * 1. Its source opens it, and disposes of it at the end.
 * 2. The tree is shown as it is; what the visitor changes shows in the events that follow.
 */

import type { Db, EngineEvent, Event, StoreOptions } from "terrane";
import type { ShapeEvent } from "../timeline/events.ts";
import { Timeline } from "../timeline/timeline.ts";
import type { ReadPath, Wanted } from "./read-path.ts";
import { release } from "./header.ts";
import { firstOf, localReader, readKey } from "./reading.ts";
import type { OpenStore, Recording, Status } from "./recording.ts";
import { livePolicy, type Settings, withPolicy } from "./settings.ts";
import { shapeOf } from "./shape.ts";

/** Uses a store from its opening to its end. */
export type Use = (open: (options: StoreOptions) => Promise<Db>) => Promise<void>;

/** Origin of a store. */
export interface StoreSource {
  /** A sentence for the time until the store is open. */
  readonly preparing: string;
  /** Opens the store for `use`, and keeps or removes it afterwards. */
  open(use: Use, report: (status: Status) => void, stopped: AbortSignal): Promise<void>;
  /** The parameters of a policy that the store is given. */
  parametersOf(policy: Settings["policy"]): Settings["parameters"];
  /** Explains why the store is not shown. */
  explain(error: unknown): string;
}

/** Idle time is cut to this many microseconds: a visitor may think for minutes. */
const PAUSE = 250_000;

/** A recording of an open store, which continues until it is stopped. */
export class StoreRecording implements Recording {
  settings: Settings;
  readonly timeline: Timeline = new Timeline();
  readonly ended: Promise<void>;
  readonly readsBack: boolean = false;
  status: Status;
  store: OpenStore | undefined;
  readonly #source: StoreSource;
  readonly #changed: () => void;
  readonly #stopped = new AbortController();
  /** Time that the opening took, in milliseconds. */
  #openedIn = 0;
  /** The events of the keyspace that is shown, from when it was. */
  #events: AsyncGenerator<Event> | undefined;
  /** The engine's time of the last event, and what is added to it here. */
  #last = 0;
  #offset = 0;

  /** Opens the store once others are gone; `changed` is called whenever there is more to show. */
  constructor(source: StoreSource, settings: Settings, changed: () => void, after: Promise<void>) {
    this.settings = settings;
    this.#source = source;
    this.#changed = changed;
    this.status = { at: "running", share: 0, preparing: source.preparing };
    this.ended = after.then(() => this.#run()).catch((error: unknown) => this.#fail(error));
  }

  get closed(): Promise<void> {
    return this.ended;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async read(wanted: Wanted): Promise<ReadPath> {
    if (this.store === undefined) throw new Error("The store is not open.");
    return readKey(localReader(this.store.space), wanted, this.timeline.end);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    if (signal.aborted) return;
    const use: Use = async (open) => {
      const began = performance.now();
      // Merges between messages, not beside them: they install nothing while the levels are asked for.
      const db = await open({ policies: "all", threads: false, signal });
      this.#openedIn = performance.now() - began;
      try {
        await this.#open(db);
        await new Promise<void>((stopped) => {
          if (signal.aborted) stopped();
          signal.addEventListener("abort", () => stopped(), { once: true });
        });
      } finally {
        this.store = undefined;
        await db.close().catch(() => undefined);
      }
    };
    await this.#source.open(use, (status) => this.#tell(status), signal);
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
    this.#events = events;
    this.settings = withPolicy(this.settings, policy);
    this.timeline.append([
      {
        type: "shape",
        micros: this.timeline.duration,
        release,
        name,
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
    const space = db.keyspace(name, { create: false });
    return {
      db,
      openedIn: this.#openedIn,
      keyspaces,
      keyspace: name,
      space,
      show: (other) => this.#show(db, other),
      seek: (range) => firstOf(space, range, this.timeline.end),
      put: async (key, value) => void (await space.put(key, value)),
      delete: async (key) => void (await space.delete(key)),
      flush: () => db.flush(),
      compact: () => space.compactRange(),
      parametersOf: (policy) => this.#source.parametersOf(policy),
      setPolicy: (settings) => space.setPolicy(livePolicy(settings)),
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
      // The engine does nothing then.
      if (!("micros" in event)) continue;
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

  #fail(error: unknown): void {
    if (this.#stopped.signal.aborted) return;
    this.#tell({ at: "failed", error: this.#source.explain(error) });
  }

  #tell(status: Status): void {
    this.status = status;
    this.#changed();
  }
}
