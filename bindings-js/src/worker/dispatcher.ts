/** Dispatches requests to the engine. */

import type { Scan } from "../../wasm/terrane.js";
import { ClosedError } from "../api/errors.ts";
import type { Counted, OpenRequest, Outcome, Page, StoreOperation } from "../codec/protocol.ts";
import { checkpoint, endExport, exportFile } from "#platform";
import { Engine } from "../engine/engine.ts";
import { invoke, isSteps, wroteBy } from "../engine/methods.ts";
import { runSteps, StartedTask } from "../engine/tasks.ts";
import { Watches } from "../engine/watches.ts";
import { attempt } from "./attempt.ts";

/** Dispatches requests to one store. */
export class Dispatcher {
  readonly engine: Engine;
  readonly #emit: (event: string) => void;
  readonly #scans: Map<number, Scan> = new Map();
  readonly watches: Watches;

  private constructor(engine: Engine, emit: (event: string) => void) {
    this.engine = engine;
    this.watches = new Watches(engine);
    this.#emit = emit;
  }

  /** Opens a store; `emit` is called with its events, as JSON. */
  static async open(request: OpenRequest, emit: (event: string) => void): Promise<Dispatcher> {
    return new Dispatcher(await Engine.open(request), emit);
  }

  /** Performs an operation; the files must have been verified before a close. */
  perform(request: StoreOperation): unknown {
    const { engine } = this;
    switch (request.op) {
      case "call": {
        const result = invoke(engine, request.method, request.args);
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
        return together(request.batch, request.ends, (batch) => engine.write(batch));
      case "get": {
        const { keyspace, snapshot } = request;
        const lookup = (keys: Uint8Array) =>
          engine.call((store) => store.get_many(keyspace, snapshot, keys));
        return together(request.keys, request.ends, lookup);
      }
      case "scan": {
        const { scan, keyspace, snapshot, range, reverse, limit } = request;
        const started = engine.call((store) =>
          store.scan(keyspace, snapshot, range, reverse, limit),
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
      case "listen":
        return engine.call((store) => store.listen(request.on ? this.#emit : undefined));
      case "checkpoint":
        return checkpoint(engine, request);
      case "export":
        return exportFile(engine);
      case "endExport":
        return endExport(engine, request.file);
      case "close":
      case "suspend":
        for (const scan of this.#scans.keys()) this.#endScan(scan);
        return engine.close(new ClosedError("the store is closed"), true);
    }
  }

  #scan(number: number): Scan {
    const scan = this.#scans.get(number);
    if (scan !== undefined) return scan;
    throw new ClosedError("the iteration ended when the page was suspended; start it again");
  }

  #step<T extends { done: boolean }>(number: number, body: (scan: Scan) => T): T {
    const scan = this.#scan(number);
    const step = this.engine.call(() => body(scan));
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
