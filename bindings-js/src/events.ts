/** What the engine does, as it does it. */

import { abortable, type WaitOptions } from "./abort.ts";
import type { Connection } from "./connection.ts";
import { ClosedError, type TerraneError } from "./errors.ts";
import type { PolicyOptions } from "./policies.ts";
import { parse, type Table } from "./stats.ts";

/** Something that the engine did. Keyspaces go by their names. */
export type Event =
  | { type: "keyspace-created" | "keyspace-dropped"; keyspace: string }
  | { type: "policy-changed"; keyspace: string; policy: Required<PolicyOptions> }
  /** A memtable was closed for writing and waits for its flush. */
  | { type: "memtable-sealed"; keyspace: string; bytes: number; through: number }
  /** A memtable became a run of level 0. */
  | { type: "flushed"; keyspace: string; run: number; table: Table; through: number }
  /** A compaction of so many groups of tables began; `reason` is the policy's, in words. */
  | {
      type: "compaction-begun";
      keyspace: string;
      compaction: number;
      groups: number;
      reason: string;
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
  | { type: "stalled"; reason: "memtables" | "level0" }
  /** A job failed; it is tried again later. */
  | { type: "job-failed"; error: string }
  | { type: "file-removed"; file: string }
  /** A snapshot that nobody released was found, and released. */
  | { type: "snapshot-forgotten" };

/** Reads events, with the names of the keyspaces that they speak of. */
export class EventReader {
  readonly #names: Map<number, string> = new Map();

  /** Takes the engine's list of keyspaces. */
  learn(json: string): void {
    for (const [id, name] of JSON.parse(json) as [number, string][]) this.#names.set(id, name);
  }

  read(json: string): Event {
    const event = parse(json) as { type: string; keyspace?: number | string; name?: string };
    if (typeof event.keyspace === "number") {
      if (event.name !== undefined) this.#names.set(event.keyspace, event.name);
      event.keyspace = this.#names.get(event.keyspace) ?? String(event.keyspace);
      delete event.name;
    }
    return event as Event;
  }
}

/** Events as they come, until the store is closed. */
export async function* events(
  connection: Connection,
  { signal }: WaitOptions,
): AsyncGenerator<Event, void, undefined> {
  const queue: Event[] = [];
  let failure: TerraneError | undefined;
  let wake = () => undefined as void;
  const stop = connection.listen({
    event: (event) => {
      queue.push(event);
      wake();
    },
    end: (error) => {
      failure = error;
      wake();
    },
  });
  try {
    for (;;) {
      yield* queue.splice(0);
      if (failure instanceof ClosedError) return;
      if (failure !== undefined) throw failure;
      await abortable(signal, () => {
        return new Promise<void>((resolve) => {
          wake = resolve;
          if (queue.length > 0 || failure !== undefined) resolve();
        });
      });
    }
  } finally {
    stop();
  }
}
