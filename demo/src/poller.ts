/**
 * Follows a store for the views.
 *
 * 1. An event is noted, and nothing else is done about it: however many come, they cost little.
 * 2. At an animation frame, and not too often, the levels and figures are asked for, once.
 * 3. What they are, and what was noted since the last time, is shown.
 */

import type { Db, Event, Level, Stats } from "terrane";

/** The least time from one picture to the next, in milliseconds. */
const INTERVAL = 200;
/** The most events that are kept for a picture; a page in the background shows none. */
const EVENTS_KEPT = 200;

/** How a table came to be where it is. */
export type Origin = "flushed" | "merged" | "moved";

/** A store at a moment. */
export interface Picture {
  levels: Level[];
  stats: Stats;
  /** Tables that came or moved since the last picture. */
  fresh: Map<number, Origin>;
  /** The latest events since the last picture. */
  events: Event[];
}

/** Follows one store until it is closed. */
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
    // The calls that a visitor makes say why a store is gone.
    this.#follow().catch(() => undefined);
    this.renew();
  }

  /** Asks for a picture soon. */
  renew(): void {
    this.#outdated = true;
    if (!this.#drawing) this.#draw().catch(() => undefined);
  }

  async #follow(): Promise<void> {
    for await (const event of this.#db.events()) {
      this.#note(event);
      this.renew();
    }
  }

  #note(event: Event): void {
    if (event.type === "merge-progress" || event.type === "file-removed") return;
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
