/** An open store in its worker: locks, files and engine, taken and let go together. */

import init, { on_panic, type Scan, Store } from "../wasm/terrane.js";
import { isWire, type WireError } from "./errors.ts";
import { directoryOf, type Hold, hold, retryWhileHeld } from "./place.ts";
import type { Counted, OpenRequest, Operation, Page } from "./protocol.ts";

/** The volume's backing files. A sync of the log does not wait for writes to tables. */
const FILES = ["journal", "log", "data"];

/** What the engine said before it trapped. */
let panic: string | undefined;

/** Owns one store. */
export class Host {
  readonly #store: Store;
  readonly #handles: FileSystemSyncAccessHandle[];
  readonly #locks: Hold;
  readonly #scans: Map<number, Scan> = new Map();

  private constructor(store: Store, handles: FileSystemSyncAccessHandle[], locks: Hold) {
    this.#store = store;
    this.#handles = handles;
    this.#locks = locks;
  }

  /** Takes the locks, opens the files and starts the engine; on failure lets all go again. */
  static async open(request: OpenRequest): Promise<Host> {
    const { name, page, client, timeout, createIfMissing, wasmUrl } = request;
    const starting = init(wasmUrl === undefined ? undefined : { module_or_path: wasmUrl });
    // Its failure is told below, where it is awaited.
    starting.catch(() => undefined);
    const since = new Date().toISOString();
    const locks = await hold({ name, page, client, since }, timeout);
    const handles: FileSystemSyncAccessHandle[] = [];
    try {
      const directory = await directoryOf(name, createIfMissing);
      for (const file of FILES) {
        const handle = await directory.getFileHandle(file, { create: createIfMissing });
        handles.push(await retryWhileHeld(() => handle.createSyncAccessHandle(), timeout));
      }
      await starting;
      on_panic((message: string) => {
        panic = message;
      });
      return new Host(Store.open(handles, request.engine), handles, locks);
    } catch (error) {
      letGo(handles, locks);
      throw error instanceof WebAssembly.RuntimeError ? stopped(error) : error;
    }
  }

  /** The name of the lock that is held as long as the store is. */
  get lock(): string {
    return this.#locks.lock;
  }

  /** Carries out a request. */
  perform(request: Operation): unknown {
    try {
      return this.#perform(request);
    } catch (error) {
      if (isWire(error)) throw error;
      // A trap: the engine's memory is in an unknown state; what is on the files is not.
      letGo(this.#handles, this.#locks);
      throw stopped(error);
    }
  }

  #perform(request: Operation): unknown {
    const store = this.#store;
    switch (request.op) {
      case "write":
        return store.write(request.batch);
      case "get":
        return store.get_many(request.keys);
      case "scan": {
        const { scan, from, fromInclusive, to, toInclusive, reverse, limit } = request;
        this.#scans.set(scan, store.scan(from, fromInclusive, to, toInclusive, reverse, limit));
        return undefined;
      }
      case "page":
        return this.#step(request.scan, (scan): Page => {
          const pairs = scan.page(request.bytes);
          return { pairs, done: scan.done };
        });
      case "count":
        return this.#step(request.scan, (scan): Counted => {
          const entries = scan.count(request.entries);
          return { entries, done: scan.done };
        });
      case "endScan":
        return this.#endScan(request.scan);
      case "jobs":
        return store.run_jobs(request.bytes);
      case "flush":
        return store.flush();
      case "sync":
        return store.sync();
      case "stats":
        return store.stats();
      case "check":
        return store.check();
      case "close":
        return this.#close();
      case "open":
        throw refusal("INVALID_ARGUMENT", "the worker has its store already");
    }
  }

  #step<T extends { done: boolean }>(number: number, body: (scan: Scan) => T): T {
    const scan = this.#scans.get(number);
    if (scan === undefined) {
      throw refusal("CLOSED", "the iteration ended when the page was put aside; begin it again");
    }
    const step = body(scan);
    if (step.done) this.#endScan(number);
    return step;
  }

  #endScan(number: number): void {
    this.#scans.get(number)?.free();
    this.#scans.delete(number);
  }

  #close(): void {
    try {
      for (const scan of this.#scans.keys()) this.#endScan(scan);
      this.#store.close();
    } finally {
      letGo(this.#handles, this.#locks);
    }
  }
}

function letGo(handles: FileSystemSyncAccessHandle[], locks: Hold): void {
  for (const handle of handles) handle.close();
  locks.release();
}

/** Says of a trap what the engine said of it. */
function stopped(error: unknown): WireError {
  const why = panic ?? String(error);
  return refusal("ENGINE", `the engine stopped, open the store again: ${why}`, error);
}

function refusal(code: WireError["code"], message: string, cause?: unknown): WireError {
  return cause === undefined ? { code, message } : { code, message, cause };
}
