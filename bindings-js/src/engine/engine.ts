/**
 * An open store in the worker that owns its files: locks, files and engine, acquired and released
 * together, and their upkeep.
 *
 * 1. A message to itself gets its turn after the messages that are already queued. In such turns
 *    background jobs (flushes, compactions) run in slices.
 * 2. Where the module has a pool of workers, it runs most of them, and says when a turn is due.
 * 3. Buffered writes are synced once the sync interval since the first of them has passed. That is
 *    also when the files are verified to exist: a browser that clears an origin's storage leaves
 *    open files usable.
 */

import type { Store } from "../../wasm/terrane.js";
import {
  ClosedError,
  EngineError,
  IoError,
  NotFoundError,
  QuotaError,
  type TerraneError,
} from "../api/errors.ts";
import type { ThreadStats } from "../api/stats.ts";
import { LeftOutError, toError } from "../codec/thrown.ts";
import type { OpenRequest } from "../codec/protocol.ts";
import { ref, unref } from "../shared/ports.ts";
import { type Files, IN_BACKGROUND, Module, openStore } from "#platform";

/** Bytes of background work per turn. */
const SLICE_BYTES = 256 << 10;

/** The errors after which the log may accept no more writes. */
const LOG_ERRORS = [IoError, NotFoundError, QuotaError];

/** Throws if a sequence number exceeds what a JavaScript number represents exactly. */
function checkSequence(sequence: number): number {
  if (Number.isSafeInteger(sequence)) return sequence;
  throw new EngineError(`expected at most 2^53 batches in a store, found sequence ${sequence}`);
}

/** The workers of a module with threads. */
export interface Pool {
  /** Called when background jobs need a turn. */
  onWork: () => void;
  /** Called when it fails, and soon if it has failed. */
  onFailure: (failure: EngineError) => void;
  /** Ends them. */
  end(): void;
}

/** Loads the build with threads and starts its pool, which runs `merges` merges at once. */
type LoadThreads = (merges: number) => Promise<[Module, Pool]>;

let loadThreads: LoadThreads | undefined;

/** From now on this worker can run the build with threads. */
export function setThreads(load: LoadThreads): void {
  loadThreads = load;
}

/** A store that other threads use as well. */
interface Waking {
  /** Sets the function that is called when there are changes to take. */
  wake(wake: () => void): void;
}

/** One open store. */
export class Engine {
  readonly module: Module;
  readonly #store: Store;
  /** Undefined for a store in memory. */
  readonly files: Files | undefined;
  readonly #pool: Pool | undefined;
  readonly #threads: ThreadStats;
  readonly #turns: MessageChannel = new MessageChannel();
  #turnScheduled = false;
  /** Callers that wait for a turn. */
  #waiting: (() => void)[] = [];
  /** Callers that wait for background jobs, and those of them since whom a turn had nothing to do. */
  #waitingForJobs: (() => void)[] = [];
  #rested: (() => void)[] = [];
  readonly #syncInterval: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: TerraneError | undefined;
  readonly #aborter: AbortController = new AbortController();
  /** The store as other clients have it: each with keyspaces and snapshots of its own. */
  readonly #views: Set<Store> = new Set();
  /** The number of clients. */
  clients: number = 1;
  /** Whether it fails once its log accepts no more writes, so that the page that started the worker opens it again. */
  reopens: boolean = false;
  /** Called at each turn, before background jobs. */
  onTurn: () => void = () => undefined;
  /** Called with the failure after which no more calls are accepted. */
  onFailure: (failure: TerraneError) => void = () => undefined;

  private constructor(
    module: Module,
    store: Store,
    files: Files | undefined,
    syncInterval: number,
    pool: Pool | undefined,
    threads: ThreadStats,
  ) {
    this.module = module;
    this.#store = store;
    this.files = files;
    this.#syncInterval = syncInterval;
    this.#pool = pool;
    this.#threads = threads;
    if (pool !== undefined) {
      pool.onWork = () => this.scheduleTurn();
      pool.onFailure = (failure) => this.#end(failure);
    }
    this.#turns.port1.onmessage = () => this.#takeTurn();
    unref(this.#turns.port1);
    // Other threads may write to watched ranges.
    if (IN_BACKGROUND) (store as Store & Waking).wake(() => this.closed || this.scheduleTurn());
  }

  /**
   * Acquires the files and starts the engine: the build with threads, if it can be had and the request
   * asks for it; otherwise the lean build, unless the request or what is stored needs the one
   * with all policies. If that fails, releases everything.
   */
  static async open(request: OpenRequest): Promise<Engine> {
    const { build, wasm, policy, threads } = request;
    if (threads.count > 0 && loadThreads !== undefined) {
      let loaded: [Module, Pool];
      try {
        loaded = await loadThreads(threads.count);
      } catch (why) {
        return Engine.open({ ...request, threads: { count: 0, reason: String(why) } });
      }
      const [module, pool] = loaded;
      try {
        return await Engine.#open(request, Promise.resolve(module), pool);
      } catch (error) {
        pool.end();
        throw error;
      }
    }
    try {
      return await Engine.#open(request, Module.load(build, wasm, policy ?? 'policies: "all"'));
    } catch (error) {
      if (!(error instanceof LeftOutError) || wasm !== undefined) throw error;
      return Engine.#open(request, Module.load("all", wasm, error.what));
    }
  }

  static async #open(request: OpenRequest, loading: Promise<Module>, pool?: Pool): Promise<Engine> {
    const { module, store, files } = await openStore(request, loading);
    return new Engine(module, store, files, request.syncInterval, pool, request.threads);
  }

  /** Whether it was closed or has failed. */
  get closed(): boolean {
    return this.#failure !== undefined;
  }

  /** Aborted by `abort`. */
  get aborted(): AbortSignal {
    return this.#aborter.signal;
  }

  /** Aborts long calls with `reason`, those in progress and later ones. */
  abort(reason: TerraneError): void {
    this.#aborter.abort(reason);
    this.#wakeAll();
  }

  /** Runs a step of a long call. */
  step<T>(body: () => T): T {
    this.aborted.throwIfAborted();
    return this.call(body);
  }

  /** Returns the store for another client, with keyspaces and snapshots of its own. */
  view(): Store {
    const view = this.call((store) => store.another());
    this.#views.add(view);
    return view;
  }

  /** Releases what another client had, with its snapshots. */
  endView(view: Store): void {
    if (this.#views.delete(view)) this.module.release(view);
  }

  /** Calls the store, or what a client has of it. */
  call<T>(body: (store: Store) => T, view: Store = this.#store): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return this.module.call(() => body(view));
    } catch (error) {
      if (error instanceof EngineError) this.#end(error);
      // Only a sync shows whether the log still accepts writes.
      else if (LOG_ERRORS.some((type) => error instanceof type)) this.#syncSoon();
      throw error;
    }
  }

  /** Returns statistics, as JSON. */
  stats(): string {
    const stats = this.call((store) => store.stats());
    const { clients } = this;
    return JSON.stringify({ threads: this.#threads, clients, ...JSON.parse(stats) });
  }

  /** Commits an encoded batch, durable after the next sync. Returns its sequence number. */
  write(batch: Uint8Array, view?: Store): number {
    const sequence = this.call((store) => checkSequence(store.write(batch)), view);
    this.wrote();
    return sequence;
  }

  /** Schedules what follows a write: background jobs, and the sync of buffered writes. */
  wrote(): void {
    this.scheduleTurn();
    if (!IN_BACKGROUND) this.#syncSoon();
  }

  #syncSoon(): void {
    this.#timer ??= setTimeout(() => this.#upkeep(), this.#syncInterval);
  }

  /** Makes every earlier write durable. */
  sync(): void {
    try {
      this.call((store) => store.sync());
    } catch (error) {
      if (this.reopens) this.#end(toError(error));
      throw error;
    }
  }

  /**
   * Syncs; later calls fail with `reason`. Files and locks are released at once if the files were just
   * `verified`, and soon after otherwise.
   */
  close(reason: TerraneError, verified: boolean = false): void {
    if (this.#failure instanceof ClosedError) return;
    try {
      this.sync();
    } finally {
      this.#end(reason, verified);
    }
  }

  /** Fails, and accepts no more calls, if the files are gone. */
  async verify(): Promise<void> {
    try {
      await this.files?.verify();
    } catch (error) {
      const failure = toError(error);
      this.#end(failure);
      throw failure;
    }
  }

  async #upkeep(): Promise<void> {
    this.#timer = undefined;
    try {
      this.sync();
      await this.verify();
    } catch {
      // The next call reports it.
    }
  }

  /** Schedules a turn. */
  scheduleTurn(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    ref(this.#turns.port1);
    this.#turns.port2.postMessage(undefined);
  }

  /**
   * Waits until queued messages and a slice of background jobs have had their turn; a caller that only
   * waits for jobs, until there was something to do in it, or the turn after it.
   */
  turn(forJobs: boolean): Promise<void> {
    this.scheduleTurn();
    const mayRest = forJobs && this.#pool !== undefined;
    const waiting = mayRest ? this.#waitingForJobs : this.#waiting;
    return new Promise((resolve) => waiting.push(resolve));
  }

  #takeTurn(): void {
    this.#turnScheduled = false;
    unref(this.#turns.port1);
    this.onTurn();
    const rested = this.#rested;
    this.#rested = this.#waitingForJobs;
    this.#waitingForJobs = [];
    try {
      if (this.call((store) => store.run_jobs(SLICE_BYTES))) {
        this.scheduleTurn();
        rested.push(...this.#rested.splice(0));
      }
    } catch {
      // The engine retries a job that failed; a write that depends on it fails.
      rested.push(...this.#rested.splice(0));
    }
    this.#waiting.push(...rested);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Wakes everyone, whatever they wait for. */
  #wakeAll(): void {
    this.#waiting.push(...this.#rested.splice(0), ...this.#waitingForJobs.splice(0));
    this.#wake();
  }

  #end(failure: TerraneError, verified: boolean = false): void {
    const before = this.#failure;
    this.#failure ??= failure;
    if (before !== undefined) return;
    if (!(failure instanceof ClosedError)) this.onFailure(failure);
    clearTimeout(this.#timer);
    this.#turns.port1.close();
    this.#wakeAll();
    const user = { free: () => this.#free() };
    if (this.files === undefined) user.free();
    else if (verified) this.files.releaseNow(user);
    else void this.files.release(user);
  }

  #free(): void {
    try {
      for (const view of this.#views) this.endView(view);
      if (!(this.#failure instanceof EngineError)) this.#store.close();
    } catch {
      // The sync before has reported what could not be made durable.
    }
    this.#pool?.end();
  }
}
