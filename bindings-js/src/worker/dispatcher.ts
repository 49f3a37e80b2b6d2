/** Dispatches the requests of one client to the engine. */

import type { Scan, Store } from "../../wasm/terrane.js";
import { ClosedError } from "../api/errors.ts";
import type { Call, Counted, Exported, Outcome, Page, StoreOperation } from "../codec/protocol.ts";
import { checkpoint, endExport, exportFile, Lookups } from "#platform";
import type { Engine } from "../engine/engine.ts";
import { invoke, isSteps, unknownCall, wroteBy } from "../engine/methods.ts";
import { runSteps, StartedTask } from "../engine/tasks.ts";
import { Watches } from "../engine/watches.ts";
import { ignoreResult } from "../shared/abort.ts";
import { attempt } from "./attempt.ts";
import { WritesOnce } from "./once.ts";

/** The engine's message for a read at a snapshot that it does not have. */
const SNAPSHOT_CLOSED = "the snapshot is closed";

/** Dispatches requests to one store. */
export class Dispatcher {
  readonly engine: Engine;
  /** The store with the client's keyspaces and snapshots; undefined for the first client's. */
  readonly #view: Store | undefined;
  readonly #lookups: Lookups;
  readonly #writes: WritesOnce;
  readonly #scans: Map<number, Scan> = new Map();
  readonly #snapshots: Set<unknown> = new Set();
  readonly #exports: Set<string> = new Set();
  readonly watches: Watches;
  /** The reason why the client's snapshots and iterations ended with the previous worker. */
  #why: string | undefined;

  /** `client` is the client's id; undefined if it is the only one. */
  constructor(engine: Engine, client: string | undefined, view: Store | undefined) {
    this.engine = engine;
    this.#view = view;
    this.#lookups = new Lookups(engine, view);
    this.#writes = new WritesOnce(engine, client ?? "", view);
    this.watches = new Watches(engine, view);
  }

  /** Whether the client has a snapshot, an iteration or an export. */
  get holds(): boolean {
    return this.#scans.size > 0 || this.#snapshots.size > 0 || this.#exports.size > 0;
  }

  /** Releases all that the client has: it is gone. */
  end(): void {
    this.#writes.end();
    for (const scan of this.#scans.keys()) this.#endScan(scan);
    if (this.#view !== undefined) this.engine.endView(this.#view);
    for (const file of this.#exports) ignoreResult(endExport(this.engine, file));
    this.#exports.clear();
  }

  /** Performs an operation; the files must have been verified before a close. */
  perform(request: StoreOperation): unknown {
    try {
      return this.#perform(request);
    } catch (error) {
      // The snapshot may be one of the previous worker.
      if (!(error instanceof ClosedError && error.message === SNAPSHOT_CLOSED)) throw error;
      throw this.#why === undefined ? error : new ClosedError(`the snapshot ended: ${this.#why}`);
    }
  }

  #perform(request: StoreOperation): unknown {
    const { engine } = this;
    switch (request.op) {
      case "call": {
        const result = this.#invoke(request);
        if (!isSteps(engine, result)) return result;
        const steps = runSteps(engine, result, request.method !== "check");
        return new StartedTask(
          steps.finally(() => {
            engine.module.release(result);
            wroteBy(engine, request.method);
          }),
        );
      }
      case "write":
        if (request.once !== undefined) return this.#writes.write(request, request.once);
        return together(request.batch, request.ends, (batch) => engine.write(batch, this.#view));
      case "get": {
        const { keyspace, snapshot } = request;
        const lookup = (keys: Uint8Array) =>
          engine.call((store) => store.get_many(keyspace, snapshot, keys), this.#view);
        return together(request.keys, request.ends, lookup);
      }
      case "lookup": {
        const { keyspace, snapshot, key, text } = request;
        return this.#lookups.find(keyspace, snapshot, key, text);
      }
      case "scan": {
        const { scan, keyspace, snapshot, range, reverse, limit } = request;
        const started = engine.call(
          (store) => store.scan(keyspace, snapshot, range, reverse, limit),
          this.#view,
        );
        this.#scans.set(scan, started);
        return undefined;
      }
      case "page":
        return this.#step(request.scan, (scan): Page => {
          const bytes = scan.page(request.bytes, request.keys, request.values);
          return { bytes, done: scan.done };
        });
      case "count":
        return this.#step(request.scan, (scan): Counted => {
          const entries = scan.count(request.entries);
          return { entries, done: scan.done };
        });
      case "rows": {
        const { seek, count, back, keys, values } = request;
        const scan = this.#scan(request.scan);
        return engine.call(() => scan.rows(seek, count, back, keys, values));
      }
      case "endScan":
        return this.#endScan(request.scan);
      case "watch":
        return new StartedTask(this.watches.ask(request));
      case "endWatch":
        return this.watches.end(request.watch);
      case "checkpoint":
        return checkpoint(engine, request);
      case "export":
        return exportFile(engine).then((task) => new StartedTask(this.#exported(task.end)));
      case "endExport":
        this.#exports.delete(request.file);
        return endExport(engine, request.file);
      case "ended":
        this.#why = request.why;
        return undefined;
      case "close":
      case "suspend":
        this.end();
        return engine.close(new ClosedError("the store is closed"), true);
      default:
        throw unknownCall((request as StoreOperation).op);
    }
  }

  #invoke(call: Call): unknown {
    const { method, args } = call;
    const [first] = args;
    if (method === "snapshot") this.#snapshots.add(first);
    if (method === "release") this.#snapshots.delete(first);
    if (call.once !== undefined) return this.#writes.invoke(call, call.once);
    return invoke(this.engine, method, args, this.#view);
  }

  async #exported(end: Promise<Exported>): Promise<Exported> {
    const exported = await end;
    if (exported.file !== undefined) this.#exports.add(exported.file);
    return exported;
  }

  #scan(number: number): Scan {
    const scan = this.#scans.get(number);
    if (scan !== undefined) return scan;
    throw new ClosedError(
      `the iteration ended: ${this.#why ?? "its worker is gone"}; start it again`,
    );
  }

  #step<T extends { done: boolean }>(number: number, body: (scan: Scan) => T): T {
    const scan = this.#scan(number);
    const step = this.engine.call(() => body(scan), this.#view);
    if (step.done) this.#endScan(number);
    return step;
  }

  #endScan(number: number): void {
    this.#scans.get(number)?.free();
    this.#scans.delete(number);
  }
}

/**
 * Serves the calls of an operation together; if that fails, serves each by itself and returns their outcomes.
 * A failed attempt wrote nothing, or failed the log, so that the others fail as well and nothing is written twice.
 */
function together<T>(
  bytes: Uint8Array,
  ends: Uint32Array | undefined,
  serve: (bytes: Uint8Array) => T,
): T | Outcome[] {
  try {
    return serve(bytes);
  } catch (error) {
    if (ends === undefined) throw error;
    let start = 0;
    return Array.from(ends, (end) => {
      const own = bytes.subarray(start, (start = end));
      return attempt(() => serve(own));
    });
  }
}
