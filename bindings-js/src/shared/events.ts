/** Distribution of the engine's events to listeners. */

import { ClosedError, type TerraneError } from "../api/errors.ts";
import type { Event } from "../api/events.ts";
import type { WaitOptions } from "../api/options.ts";
import { fromJson, parseNames } from "../codec/json.ts";
import { checked, WAIT } from "../codec/options.ts";
import { abortable } from "./abort.ts";
import { onForgotten, started } from "./finalization.ts";

/** The most events that are queued for a slow listener. */
const MAX_QUEUED = 10_000;

/** Marks the event of a new keyspace, whose name later events need. */
const CREATED = '"keyspace-created"';

/** A listener; `end` is called when there will be no more events. */
export interface Listener {
  /** Receives an event, which is parsed on first use, so that no write waits for that. */
  event(event: () => Event): void;
  end(failure: TerraneError): void;
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

  /** Parses an event on first use, but that of a new keyspace at once: later ones refer to it. */
  #parsed(json: string): () => Event {
    let event: Event | undefined = json.includes(CREATED) ? this.#parse(json) : undefined;
    return () => (event ??= this.#parse(json));
  }

  #parse(json: string): Event {
    const event = fromJson<{ type: string; keyspace?: number | string; name?: string }>(json);
    if (typeof event.keyspace === "number") {
      if (event.name !== undefined) this.#names.set(event.keyspace, event.name);
      event.keyspace = this.#names.get(event.keyspace) ?? String(event.keyspace);
      delete event.name;
    }
    return event as Event;
  }

  #emit(event: () => Event): void {
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
  listen: (listener: Listener) => () => void,
  options: WaitOptions,
): AsyncGenerator<Event, void, undefined> {
  const { signal } = checked(options, WAIT);
  const queue = new Queue();
  const stop = listen(queue);
  const iteration = started(take(queue, stop, signal));
  onForgotten(iteration, stop);
  return iteration;
}

async function* take(
  queue: Queue,
  stop: () => void,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, undefined> {
  try {
    yield undefined as never;
    for (;;) {
      yield* queue.take();
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
  #events: (() => Event)[] = [];
  /** Events that did not fit. */
  #dropped = 0;
  #wake: () => void = () => undefined;
  /** Reason why there will be no more events. */
  ended: TerraneError | undefined;

  event(event: () => Event): void {
    if (this.#events.length < MAX_QUEUED) this.#events.push(event);
    else this.#dropped += 1;
    this.#wake();
  }

  end(failure: TerraneError): void {
    this.ended ??= failure;
    this.#wake();
  }

  /** Takes the events so far, each parsed when it is reached. */
  *take(): Generator<Event, void, undefined> {
    const [events, count] = [this.#events, this.#dropped];
    [this.#events, this.#dropped] = [[], 0];
    for (const event of events) yield event();
    if (count > 0) yield { type: "dropped", count };
  }

  /** Resolves when there is an event to take, or there will be none. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#events.length > 0 || this.ended !== undefined) resolve();
    });
  }
}
