/** Distribution of the engine's events to listeners. */

import { ClosedError, type TerraneError } from "../api/errors.ts";
import type { Event } from "../api/events.ts";
import type { WaitOptions } from "../api/options.ts";
import type { fromJson } from "../codec/json.ts";
import { checked, WAIT } from "../codec/options.ts";
import { abortable } from "./abort.ts";
import { onForgotten, started } from "./finalization.ts";

/** The most events that are queued for a slow listener. */
const MAX_QUEUED = 10_000;

/** Marks the event of a new keyspace, whose name later events need. */
const CREATED = '"keyspace-created"';

/** An event, which is parsed on first use, so that no write waits for that. */
type Parsed = (parse: typeof fromJson) => Event;

/** A store's events, and what parses them. */
interface Source {
  listen(listener: Listener): () => void;
  later(): { fromJson: typeof fromJson } | Promise<{ fromJson: typeof fromJson }>;
}

/** A listener; `end` is called when there will be no more events. */
export interface Listener {
  event(event: Parsed): void;
  end(failure: TerraneError): void;
}

/** An event with the engine's id of its keyspace, and the keyspace's name if it is new. */
interface Named {
  type: string;
  keyspace?: number | string;
  name?: string;
}

/** The listeners of a store, and the names of the keyspaces in its events. */
export class Listeners {
  readonly #all: Set<Listener> = new Set();
  readonly #names: Map<number, string> = new Map();
  readonly #setListening: (on: boolean) => void;
  /** Reason why there will be no more events. */
  #ended: TerraneError | undefined;

  /** `setListening` turns the engine's events on or off. */
  constructor(setListening: (on: boolean) => void) {
    this.#setListening = setListening;
  }

  get any(): boolean {
    return this.#all.size > 0;
  }

  /** Adds a listener; the returned function removes it. */
  add(listener: Listener): () => void {
    if (this.#ended !== undefined) {
      listener.end(this.#ended);
      return () => undefined;
    }
    if (!this.any) this.#setListening(true);
    this.#all.add(listener);
    return () => {
      if (this.#all.delete(listener) && !this.any) this.#setListening(false);
    };
  }

  /** Takes the names from the engine's list of keyspaces. */
  setNames(json: string): void {
    for (const [id, name] of parseNames(json)) this.#names.set(id, name);
  }

  /** Dispatches events of the engine, each as JSON. */
  dispatch(events: readonly string[]): void {
    // The last listener may be gone.
    if (this.any) for (const event of events) this.#emit(this.#parsed(event));
  }

  /** Returns an event to parse on first use; the name of a new keyspace is kept at once for later ones. */
  #parsed(json: string): Parsed {
    let event: Event | undefined;
    if (json.includes(CREATED)) this.#named(JSON.parse(json) as Named);
    return (parse) => (event ??= this.#named(parse<Named>(json)));
  }

  #named(event: Named): Event {
    if (typeof event.keyspace === "number") {
      if (event.name !== undefined) this.#names.set(event.keyspace, event.name);
      event.keyspace = this.#names.get(event.keyspace) ?? String(event.keyspace);
      delete event.name;
    }
    return event as Event;
  }

  #emit(event: Parsed): void {
    for (const listener of this.#all) listener.event(event);
  }

  /** Dispatches an event of this package. */
  report(event: Event): void {
    this.#emit(() => event);
  }

  /** Reports that the garbage collector found a snapshot that was never released. */
  reportForgotten(store: string): void {
    console.warn(`terrane: a snapshot of store "${store}" was never released; it is released now`);
    this.report({ type: "snapshot-forgotten" });
  }

  end(failure: TerraneError): void {
    this.#ended ??= failure;
    for (const listener of this.#all) listener.end(failure);
    this.#all.clear();
  }
}

/** Iterates over the events from now on until the store is closed. */
export function iterateEvents(
  source: Source,
  options: WaitOptions,
): AsyncGenerator<Event, void, undefined> {
  const { signal } = checked(options, WAIT);
  const queue = new Queue();
  const stop = source.listen(queue);
  const iteration = started(take(queue, source, stop, signal));
  onForgotten(iteration, stop);
  return iteration;
}

async function* take(
  queue: Queue,
  source: Source,
  stop: () => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, undefined> {
  try {
    yield undefined as never;
    const { fromJson } = await source.later();
    for (;;) {
      for (const event of queue.take()) yield event(fromJson);
      if (queue.ended instanceof ClosedError) return;
      if (queue.ended !== undefined) throw queue.ended;
      await abortable(signal, () => queue.wait());
    }
  } finally {
    stop();
  }
}

/** The events that a listener has yet to take. While it is full, events are only counted. */
class Queue implements Listener {
  #events: Parsed[] = [];
  /** Events that did not fit. */
  #dropped = 0;
  #wake: () => void = () => undefined;
  /** Reason why there will be no more events. */
  ended: TerraneError | undefined;

  event(event: Parsed): void {
    if (this.#events.length < MAX_QUEUED) this.#events.push(event);
    else this.#dropped += 1;
    this.#wake();
  }

  end(failure: TerraneError): void {
    this.ended ??= failure;
    this.#wake();
  }

  /** Takes the events so far. */
  take(): Parsed[] {
    const [events, count] = [this.#events, this.#dropped];
    [this.#events, this.#dropped] = [[], 0];
    if (count > 0) events.push(() => ({ type: "dropped", count }));
    return events;
  }

  /** Resolves when there is an event to take, or there will be none. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#events.length > 0 || this.ended !== undefined) resolve();
    });
  }
}

/** Parses the engine's list of keyspaces: names by id. */
export function parseNames(json: string): [number, string][] {
  return JSON.parse(json) as [number, string][];
}
