/** What a store's worker does for each request. */

import type { Scan } from "../wasm/terrane.js";
import { checkpoint, endExport, exportFile } from "./copies.ts";
import { Engine } from "./engine.ts";
import { ClosedError, InvalidArgumentError } from "./errors.ts";
import type { Counted, OpenRequest, Operation, Page } from "./protocol.ts";

/** Owns one store. */
export class Host {
  readonly engine: Engine;
  readonly #tell: (event: string) => void;
  readonly #scans: Map<number, Scan> = new Map();

  private constructor(engine: Engine, tell: (event: string) => void) {
    this.engine = engine;
    this.#tell = tell;
  }

  /** Opens a store; `tell` takes its events, as JSON. */
  static async open(request: OpenRequest, tell: (event: string) => void): Promise<Host> {
    return new Host(await Engine.open(request), tell);
  }

  /** Carries out a request. */
  perform(request: Operation): unknown {
    const { engine } = this;
    switch (request.op) {
      case "write":
        return engine.write(request.batch);
      case "get":
        return engine.call((store) =>
          store.get_many(request.keyspace, request.snapshot, request.keys),
        );
      case "scan": {
        const { scan, keyspace, snapshot, range, reverse, limit } = request;
        this.#scans.set(
          scan,
          engine.call((store) => store.scan(keyspace, snapshot, range, reverse, limit)),
        );
        return undefined;
      }
      case "page":
        return this.#step(request.scan, (scan): Page => {
          const strings = scan.page(request.bytes, request.keys, request.values);
          return { strings, done: scan.done };
        });
      case "count":
        return this.#step(request.scan, (scan): Counted => {
          const entries = scan.count(request.entries);
          return { entries, done: scan.done };
        });
      case "endScan":
        return this.#endScan(request.scan);
      case "snapshot":
        return engine.call((store) => store.snapshot(request.snapshot));
      case "release":
        return engine.call((store) => store.release(request.snapshot));
      case "keyspace": {
        const { keyspace, name, create, policy } = request;
        return engine.call((store) => store.keyspace(keyspace, name, create, policy));
      }
      case "dropKeyspace":
        return engine.call((store) => store.drop_keyspace(request.name));
      case "trace": {
        const { keyspace, snapshot, key } = request;
        return engine.call((store) => store.trace(keyspace, snapshot, key));
      }
      case "traceScan": {
        const { keyspace, snapshot, range, reverse } = request;
        return engine.call((store) => store.trace_scan(keyspace, snapshot, range, reverse));
      }
      case "levels":
        return engine.call((store) => store.levels(request.keyspace));
      case "policy":
        return engine.call((store) => store.policy(request.keyspace));
      case "setPolicy":
        return engine.call((store) => store.set_policy(request.keyspace, request.policy));
      case "approximateSize":
        return engine.call((store) => store.approximate_size(request.keyspace, request.range));
      case "compactRange":
        return engine.call((store) => store.compact_range(request.keyspace, request.range));
      case "keyspaces":
        return engine.call((store) => store.keyspaces());
      case "flush":
        return engine.call((store) => store.flush());
      case "sync":
        return engine.sync();
      case "stats":
        return engine.call((store) => store.stats());
      case "check":
        return engine.call((store) => store.check());
      case "listen":
        return engine.call((store) => store.listen(request.on ? this.#tell : undefined));
      case "checkpoint":
        return checkpoint(engine, request);
      case "export":
        return exportFile(engine);
      case "endExport":
        return endExport(engine, request.file);
      case "close":
        for (const scan of this.#scans.keys()) this.#endScan(scan);
        return engine.close(new ClosedError("the store is closed"));
      case "open":
      case "import":
      case "importBytes":
      case "endImport":
        throw new InvalidArgumentError(
          `request: expected one to an open store, found "${request.op}"`,
        );
    }
  }

  #step<T extends { done: boolean }>(number: number, body: (scan: Scan) => T): T {
    const scan = this.#scans.get(number);
    if (scan === undefined) {
      throw new ClosedError("the iteration ended when the page was put aside; begin it again");
    }
    const step = this.engine.call(() => body(scan));
    if (step.done) this.#endScan(number);
    return step;
  }

  #endScan(number: number): void {
    this.#scans.get(number)?.free();
    this.#scans.delete(number);
  }
}
