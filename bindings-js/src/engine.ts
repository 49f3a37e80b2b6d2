/**
 * An open store in the worker that owns its files: locks, files and engine, taken and released
 * together, and cared for between the owner's own work.
 *
 * 1. Whatever a call throws becomes an error of this package. After a trap the module's memory is in
 *    an unknown state, but the files are not: locks and files are released, and this worker opens
 *    no store any more.
 * 2. A message to itself takes its turn after those that have come before. In such turns jobs
 *    (flushes, compactions) run in slices.
 * 3. Buffered writes are synced when the interval since the first of them is over. Then, too, the
 *    files are looked for: a browser that clears an origin's storage leaves open files as they are.
 */

import { type InitOutput, initSync, on_panic, Store } from "../wasm/terrane.js";
import { ClosedError, EngineError, type TerraneError } from "./errors.ts";
import { isWire, toError } from "./wire.ts";
import { Place } from "./place.ts";
import type { OpenRequest } from "./protocol.ts";

/** How much of a job is done before messages are looked at again. */
const SLICE_BYTES = 256 << 10;

/** What the engine said before it trapped. */
let panic: string | undefined;
/** Why this worker opens no store any more. */
let trapped: EngineError | undefined;

/** What the module exports, and a view of its memory. */
let module: InitOutput;
let bytes: Uint8Array = new Uint8Array();

/** Settles once the module was started. */
let started: Promise<void> | undefined;

/** Loads the module, once. */
export async function load(wasm: OpenRequest["wasm"]): Promise<void> {
  if (trapped !== undefined) throw trapped;
  started ??= start(wasm);
  try {
    await started;
  } catch (cause) {
    started = undefined;
    throw new EngineError(`the engine could not be loaded: ${cause}`, { cause });
  }
}

async function start(wasm: OpenRequest["wasm"]): Promise<void> {
  module = initSync({ module: wasm instanceof WebAssembly.Module ? wasm : await compile(wasm) });
  on_panic((message: string) => {
    panic = message;
  });
}

/** Fetches the module; bundlers look for exactly this expression. */
async function compile(
  url: string | URL = new URL("terrane_bg.wasm", import.meta.url),
): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText} at ${url}`);
  // A browser compiles what comes only from a server that says what it is.
  const isNamed = response.headers.get("content-type") === "application/wasm";
  if (isNamed) return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** The module's memory, until the next call of the module: where that grows it, views lose it. */
export function memory(): Uint8Array {
  if (bytes.length === 0) bytes = new Uint8Array(module.memory.buffer);
  return bytes;
}

/** Runs what calls the module; what it throws becomes an error of this package. */
export function guard<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (isWire(error)) throw toError(error);
    const why = panic ?? String(error);
    trapped = new EngineError(`the engine stopped, open the store again in a new worker: ${why}`, {
      cause: error,
    });
    throw trapped;
  }
}

/** Frees what the module holds; of a module that has trapped nothing is called any more. */
export function release(held: { free(): void } | undefined): void {
  if (trapped === undefined) held?.free();
}

/** The sequence, if a number holds it: a store with more batches takes no more here. */
function checkSequence(sequence: number): number {
  if (Number.isSafeInteger(sequence)) return sequence;
  throw new EngineError(`a store takes 2^53 batches in its life, found sequence ${sequence}`);
}

/** One open store. */
export class Engine {
  readonly #store: Store;
  /** Undefined for a store in memory. */
  readonly place: Place | undefined;
  readonly #turn: MessageChannel = new MessageChannel();
  #turnAsked = false;
  /** Those who wait for a turn. */
  #waiting: (() => void)[] = [];
  readonly #syncInterval: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: TerraneError | undefined;
  readonly #calledOff: AbortController = new AbortController();
  /** What the owner does at each turn, before jobs. */
  onTurn: () => void = () => undefined;
  /** Hears of a failure after which nothing more is done. */
  onFailure: (failure: TerraneError) => void = () => undefined;

  private constructor(store: Store, place: Place | undefined, syncInterval: number) {
    this.#store = store;
    this.place = place;
    this.#syncInterval = syncInterval;
    this.#turn.port1.onmessage = () => this.#takeTurn();
  }

  /** Takes the place and starts the engine; on failure lets all go again. */
  static async open(request: OpenRequest): Promise<Engine> {
    const loading = load(request.wasm);
    // Its failure is thrown below, where it is awaited.
    loading.catch(() => undefined);
    const onFiles = request.storage === "opfs";
    const place = onFiles ? await Place.take(request, request.create) : undefined;
    let store: Store | undefined;
    try {
      await Promise.all([loading, place?.sweep("import")]);
      const { create, errorIfExists, keepPolicy, memtableBytes, cacheBytes, policy } = request;
      const handles = place?.handles ?? [];
      const opened = guard(() =>
        Store.open(handles, create, errorIfExists, keepPolicy, memtableBytes, cacheBytes, policy),
      );
      store = opened;
      // Not before: an import's file says that there is no store yet.
      await place?.sweep();
      return new Engine(opened, place, request.syncInterval);
    } catch (error) {
      await place?.release({ free: () => release(store) });
      throw error;
    }
  }

  /** Whether it was closed, or has failed. */
  get closed(): boolean {
    return this.#failure !== undefined;
  }

  /** Aborted when long work is called off. */
  get calledOff(): AbortSignal {
    return this.#calledOff.signal;
  }

  /** Ends long work that is under way with `reason`; no more is begun. */
  callOff(reason: TerraneError): void {
    this.#calledOff.abort(reason);
    this.#wake();
  }

  /** Does a step of long work. */
  step<T>(body: () => T): T {
    this.calledOff.throwIfAborted();
    return this.call(body);
  }

  /** Has the store do something. */
  call<T>(body: (store: Store) => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return guard(() => body(this.#store));
    } catch (error) {
      if (error instanceof EngineError) this.#end(error);
      throw error;
    }
  }

  /** Commits a packed batch; it is durable after the next sync. Returns its sequence. */
  write(batch: Uint8Array): number {
    const sequence = this.call((store) => checkSequence(store.write(batch)));
    this.askTurn();
    this.#timer ??= setTimeout(() => this.#settle(), this.#syncInterval);
    return sequence;
  }

  /** Makes every earlier write durable. */
  sync(): void {
    this.call((store) => store.sync());
  }

  /**
   * Syncs; later calls are refused with `reason`. Files and locks are released at once if the files
   * were just `verified`, and right after otherwise.
   */
  close(reason: TerraneError, verified: boolean = false): void {
    if (this.#failure instanceof ClosedError) return;
    try {
      this.sync();
    } finally {
      this.#end(reason, verified);
    }
  }

  /** Fails if the files are gone; nothing more is done then. */
  async verify(): Promise<void> {
    try {
      await this.place?.verify();
    } catch (error) {
      const failure = toError(error);
      this.#end(failure);
      throw failure;
    }
  }

  async #settle(): Promise<void> {
    this.#timer = undefined;
    try {
      this.sync();
      await this.verify();
    } catch {
      // The next call says why.
    }
  }

  /** Asks for a turn. */
  askTurn(): void {
    if (this.#turnAsked) return;
    this.#turnAsked = true;
    this.#turn.port2.postMessage(undefined);
  }

  /** Waits until others have had their turn, and this store's jobs a slice. */
  turn(): Promise<void> {
    this.askTurn();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #takeTurn(): void {
    this.#turnAsked = false;
    this.onTurn();
    try {
      if (this.call((store) => store.run_jobs(SLICE_BYTES))) this.askTurn();
    } catch {
      // A job that failed is tried again when the engine sees fit; the write that needs it fails.
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #end(failure: TerraneError, verified: boolean = false): void {
    const before = this.#failure;
    this.#failure ??= failure;
    if (before !== undefined) return;
    if (!(failure instanceof ClosedError)) this.onFailure(failure);
    clearTimeout(this.#timer);
    this.#turn.port1.close();
    this.#wake();
    const holder = { free: () => this.#free() };
    if (this.place === undefined) holder.free();
    else if (verified) this.place.releaseNow(holder);
    else void this.place.release(holder);
  }

  #free(): void {
    try {
      if (!(this.#failure instanceof EngineError)) this.#store.close();
    } catch {
      // What could not be made durable, its sync reported.
    }
  }
}
