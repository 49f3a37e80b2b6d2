/**
 * Writes of a client that take effect once, however often they are sent.
 *
 * 1. A batch is written together with the record of its client (records.ts); a recorded batch is not written again.
 * 2. A clear records with each of its batches the number of keys deleted. Sent again, it deletes the rest.
 * 3. A drop first records the engine's id of the keyspace. Sent again, it drops that keyspace, and no other of its
 *    name.
 * 4. A policy is recorded once it is set. If the worker dies in between, it is set again.
 */

import type { Steps, Store } from "../../wasm/terrane.js";
import type { Arguments, Call, Method, Numbered, StoreOperation } from "../codec/protocol.ts";
import type { Engine } from "../engine/engine.ts";
import { invoke } from "../engine/methods.ts";
import { runSteps, StartedTask } from "../engine/tasks.ts";
import { attempt } from "./attempt.ts";
import { Record } from "./records.ts";

/** The size of the outcome of a conditional batch that was written: its sequence number, a double. */
const WRITTEN_BYTES = 8;

type Once = NonNullable<Numbered["once"]>;

/** The operation by which a client writes a batch. */
type Write = Extract<StoreOperation, { op: "write" }>;

export class WritesOnce {
  readonly #engine: Engine;
  readonly #view: Store | undefined;
  readonly #client: string;
  #record: Record | undefined;
  /** Whether the client is gone, and its view with it. */
  #ended = false;

  constructor(engine: Engine, client: string, view: Store | undefined) {
    this.#engine = engine;
    this.#client = client;
    this.#view = view;
  }

  /** Notes that the client is gone. */
  end(): void {
    this.#ended = true;
  }

  /** Writes the calls of an operation that have not taken effect yet: all at once, or each by itself. */
  write({ batch, ends }: Write, { number, oldest }: Once): unknown {
    const record = this.#records(oldest);
    const write = (bytes: Uint8Array, last: number) => {
      const sequence = this.#engine.write(record.with(bytes, last), this.#view);
      record.wrote(last);
      return sequence;
    };
    const count = ends?.length ?? 1;
    try {
      if (record.isBefore(number)) return write(batch, number + count - 1);
    } catch (error) {
      if (ends === undefined) {
        record.failed(number);
        throw error;
      }
    }
    if (ends === undefined) return record.has(number) ? record.sequence() : write(batch, number);
    let start = 0;
    return Array.from(ends, (end, at) => {
      const own = batch.subarray(start, (start = end));
      const outcome = attempt(() =>
        record.has(number + at) ? record.sequence() : write(own, number + at),
      );
      if ("error" in outcome) record.failed(number + at);
      return outcome;
    });
  }

  /** Calls a method that writes. */
  invoke({ method, args }: Call, { number, oldest }: Once): unknown {
    const record = this.#records(oldest);
    switch (method) {
      case "write_if":
        return this.#writeIf(record, args as Arguments<"write_if">, number);
      case "clear":
        return this.#clear(record, args as Arguments<"clear">, number);
      case "drop_keyspace":
        return this.#drop(record, args as Arguments<"drop_keyspace">, number);
      default:
        return this.#setPolicy(record, method, args, number);
    }
  }

  #writeIf(record: Record, args: Arguments<"write_if">, number: number): Uint8Array {
    const [conditions, batch, sync] = args;
    if (record.has(number)) return new Uint8Array(Float64Array.of(record.sequence()).buffer);
    const recorded: Arguments<"write_if"> = [conditions, record.with(batch, number), sync];
    const outcome = this.#invoke("write_if", recorded) as Uint8Array;
    if (outcome.length === WRITTEN_BYTES) record.wrote(number);
    return outcome;
  }

  #clear(record: Record, args: Arguments<"clear">, number: number): unknown {
    const [keyspace, range, reverse, limit, sync] = args;
    if (record.has(number)) return record.result();
    const before = record.begun(number);
    const recorded = record.with(new Uint8Array(), number, before, limit !== Infinity);
    const rest: Arguments<"clear"> = [keyspace, range, reverse, limit - before, sync, recorded];
    const steps = this.#invoke("clear", rest) as Steps;
    const deleted = runSteps(this.#engine, steps, true).then((deleted) => {
      if (!this.#ended) this.#note(record, number, before + Number(deleted));
      return before + Number(deleted);
    });
    return new StartedTask(deleted.finally(() => this.#engine.module.release(steps)));
  }

  #drop(record: Record, [name]: Arguments<"drop_keyspace">, number: number): unknown {
    if (record.has(number)) return record.result() > 0;
    const names = JSON.parse(this.#invoke("keyspaces", []) as string) as [number, string][];
    const [named = 0] = names.find(([, other]) => other === name) ?? [];
    const id = record.begun(number) || named;
    // The engine refuses a keyspace that does not exist, and the default one.
    if (id === 0) return this.#invoke("drop_keyspace", [name]);
    this.#note(record, number, id, true);
    this.#engine.sync();
    if (id === named) this.#invoke("drop_keyspace", [name]);
    this.#note(record, number, id);
    return true;
  }

  /** Sets a policy, by itself or by opening a keyspace. A keyspace whose policy was set is opened without it. */
  #setPolicy(record: Record, method: Method, args: readonly unknown[], number: number): unknown {
    const isSet = record.has(number);
    if (isSet && method === "set_policy") return record.result();
    const outcome = this.#invoke(method, isSet ? args.slice(0, -1) : args);
    if (!isSet) this.#note(record, number, 0);
    return outcome;
  }

  /** Records the progress of a call in a batch of its own. */
  #note(record: Record, number: number, result: number, isPart: boolean = false): void {
    this.#engine.write(record.with(new Uint8Array(), number, result, isPart), this.#view);
    record.wrote(number, result, isPart);
  }

  #invoke(method: Method, args: readonly unknown[]): unknown {
    return invoke(this.#engine, method, args, this.#view);
  }

  #records(oldest: number): Record {
    this.#record ??= new Record(this.#engine, this.#view, this.#client);
    this.#record.answered(oldest);
    return this.#record;
  }
}
