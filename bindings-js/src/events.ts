/** What the engine does, as it does it. */

import { abortable, type WaitOptions } from "./abort.ts";
import { ClosedError, type TerraneError } from "./errors.ts";
import { entered, whenForgotten } from "./forgotten.ts";
import type { PolicyOptions } from "./policies.ts";
import { parse, parseNames, type Table } from "./stats.ts";

/** The operations on a keyspace, as its policy saw them. */
export interface Observed {
  updates: number;
  "point-reads": number;
  "range-reads": number;
  /** Reads by the number of the table. */
  "table-reads": Record<string, number>;
}

/** Something that the engine did. Keyspaces go by their names. */
export type Event =
  | { type: "keyspace-created" | "keyspace-dropped"; keyspace: string }
  | { type: "policy-changed"; keyspace: string; policy: Required<PolicyOptions> }
  /** A keyspace's stored policy is not known in full: what is not is at its default. */
  | {
      type: "policy-adjusted";
      keyspace: string;
      policy: Required<PolicyOptions>;
      problems: string[];
    }
  /** A memtable was closed for writing and waits for its flush. */
  | { type: "memtable-sealed"; keyspace: string; bytes: number; through: number }
  /** A memtable became a run of level 0; `reason` says why it was cut into several tables. */
  | {
      type: "flushed";
      keyspace: string;
      run: number;
      tables: Table[];
      reason: string;
      through: number;
    }
  /** A compaction of so many groups of tables began; `reason` is the policy's, in words. */
  | {
      type: "compaction-begun";
      keyspace: string;
      compaction: number;
      groups: number;
      order: "parallel" | "sequential";
      reason: string;
      observed: Observed;
    }
  /** A level came or went: runs were relabelled, and nothing was rewritten. */
  | {
      type: "level-changed";
      keyspace: string;
      change: { add: number } | { drop: number };
      reason: string;
      observed: Observed;
    }
  | { type: "merge-progress"; compaction: number; readBytes: number; totalBytes: number }
  /** The tables `inputs` of a group were replaced by `outputs`; moved ones are the same. */
  | {
      type: "group-installed";
      keyspace: string;
      compaction: number;
      inputs: number[];
      level: number;
      run: number;
      outputs: Table[];
      moved: boolean;
    }
  | { type: "compaction-ended"; compaction: number }
  /** A policy's plan was refused; that costs work, and no data. */
  | { type: "plan-refused"; keyspace: string; why: string }
  /** Writes wait. */
  | { type: "stalled"; reason: "memtables" | "memory" | "level0" | "log" }
  /** A job failed; it is tried again later. */
  | { type: "job-failed"; error: string }
  | { type: "file-removed"; file: string }
  /** A snapshot that nobody released was found, and released. */
  | { type: "snapshot-forgotten" }
  /** So many events came here that the listener was too slow for. */
  | { type: "dropped"; count: number };

/** The most events that wait for a slow listener. */
const QUEUE_MAX = 10_000;

/** Who listens; `end` is called when no event can come any more. */
export interface Listener {
  event(event: Event): void;
  end(failure: TerraneError): void;
}

/** All who listen to a store, and the names of the keyspaces that its events speak of. */
export class Listeners {
  readonly #all: Set<Listener> = new Set();
  readonly #names: Map<number, string> = new Map();
  readonly #switch: (on: boolean) => void;
  /** Why no event can come any more. */
  #ended: TerraneError | undefined;

  /** `listening` has the engine send events, or no more. */
  constructor(listening: (on: boolean) => void) {
    this.#switch = listening;
  }

  get any(): boolean {
    return this.#all.size > 0;
  }

  /** Adds one until the returned function is called. */
  add(listener: Listener): () => void {
    if (this.#ended !== undefined) {
      listener.end(this.#ended);
      return () => undefined;
    }
    if (!this.any) this.#switch(true);
    this.#all.add(listener);
    return () => {
      if (this.#all.delete(listener) && !this.any) this.#switch(false);
    };
  }

  /** Takes the engine's list of keyspaces. */
  learn(json: string): void {
    for (const [id, name] of parseNames(json)) this.#names.set(id, name);
  }

  /** Dispatches events of the engine, each as JSON. */
  read(events: readonly string[]): void {
    // Nobody may listen any more.
    if (this.any) for (const event of events) this.#read(event);
  }

  #read(json: string): void {
    const event = parse<{ type: string; keyspace?: number | string; name?: string }>(json);
    if (typeof event.keyspace === "number") {
      if (event.name !== undefined) this.#names.set(event.keyspace, event.name);
      event.keyspace = this.#names.get(event.keyspace) ?? String(event.keyspace);
      delete event.name;
    }
    this.tell(event as Event);
  }

  tell(event: Event): void {
    for (const listener of this.#all) listener.event(event);
  }

  /** Says of a snapshot that nobody released that it was found. */
  forgot(store: string): void {
    console.warn(`terrane: a snapshot of store "${store}" was never released; it was now`);
    this.tell({ type: "snapshot-forgotten" });
  }

  end(failure: TerraneError): void {
    this.#ended ??= failure;
    for (const listener of this.#all) listener.end(failure);
    this.#all.clear();
  }
}

/** Events as they come, from now on, until the store is closed. */
export function events(
  listen: (listener: Listener) => () => void,
  { signal }: WaitOptions,
): AsyncGenerator<Event, void, undefined> {
  const queue = new Queue();
  const stop = listen(queue);
  const steps = entered(give(queue, stop, signal));
  whenForgotten(steps, stop);
  return steps;
}

async function* give(
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

/** Events that wait for their listener. What comes while it is full is counted, and that is all. */
class Queue implements Listener {
  #events: Event[] = [];
  #wake: () => void = () => undefined;
  /** Why no event can come any more. */
  ended: TerraneError | undefined;

  event(event: Event): void {
    const last = this.#events.at(-1);
    if (this.#events.length < QUEUE_MAX) this.#events.push(event);
    else if (last?.type === "dropped") last.count += 1;
    else this.#events.push({ type: "dropped", count: 1 });
    this.#wake();
  }

  end(failure: TerraneError): void {
    this.ended ??= failure;
    this.#wake();
  }

  take(): Event[] {
    return this.#events.splice(0);
  }

  /** Settles when there is something to take, or nothing can come. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#events.length > 0 || this.ended !== undefined) resolve();
    });
  }
}
