/**
 * Polls a store for the views.
 *
 * 1. An event is only recorded, so that many events cost little.
 * 2. At most once per interval, at an animation frame, levels and statistics are fetched.
 * 3. They are shown together with the events recorded since the last time.
 */

import type { Db, Event, Level, Stats } from "terrane";

/** The minimum time between two pictures, in milliseconds. */
const INTERVAL = 200;
/** The most events that are kept for a picture: a page in the background shows none. */
const EVENTS_KEPT = 200;

/** The events that the log has lines for. */
const SHOWN: ReadonlySet<Event["type"]> = new Set([
  "flushed",
  "compaction-begun",
  "group-installed",
  "level-changed",
  "policy-changed",
  "plan-refused",
  "policy-state-refused",
  "decided",
  "stall-ended",
  "job-failed",
] as const);

/** Way in which a table got to its place. */
export type Origin = "flushed" | "merged" | "moved";

/** A store at one point in time. */
export interface Picture {
  levels: Level[];
  stats: Stats;
  /** Tables that are new or have moved since the last picture. */
  fresh: Map<number, Origin>;
  /** The latest events since the last picture. */
  events: Event[];
}

/** Polls one store until it is closed. */
export class Poller {
  readonly #db: Db;
  readonly #show: (picture: Picture) => void;
  #fresh: Map<number, Origin> = new Map();
  #events: Event[] = [];
  #drawing = false;
  #outdated = false;

  constructor(db: Db, show: (picture: Picture) => void) {
    this.#db = db;
    this.#show = show;
    // If the store is gone, the user's next call reports it.
    this.#follow().catch(() => undefined);
    this.refresh();
  }

  /** Requests a new picture. */
  refresh(): void {
    this.#outdated = true;
    if (!this.#drawing) this.#draw().catch(() => undefined);
  }

  async #follow(): Promise<void> {
    for await (const event of this.#db.events()) {
      this.#record(event);
      this.refresh();
    }
  }

  #record(event: Event): void {
    if (!SHOWN.has(event.type)) return;
    if (this.#events.push(event) > EVENTS_KEPT) this.#events.shift();
    if (event.type === "flushed") {
      for (const { id } of event.tables) this.#fresh.set(id, "flushed");
    } else if (event.type === "group-installed") {
      for (const id of event.inputs) this.#fresh.delete(id);
      for (const { id } of event.outputs) this.#fresh.set(id, event.moved ? "moved" : "merged");
    }
  }

  async #draw(): Promise<void> {
    this.#drawing = true;
    while (this.#outdated) {
      this.#outdated = false;
      await new Promise(requestAnimationFrame);
      const [levels, stats] = await Promise.all([this.#db.levels(), this.#db.stats()]);
      const [fresh, events] = [this.#fresh, this.#events];
      this.#fresh = new Map();
      this.#events = [];
      this.#show({ levels, stats, fresh, events });
      await new Promise((passed) => setTimeout(passed, INTERVAL));
    }
    this.#drawing = false;
  }
}
