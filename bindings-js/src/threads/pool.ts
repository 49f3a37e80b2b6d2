/**
 * The pool of workers that run flushes and compactions in the memory of the engine's worker, which owns
 * the files.
 *
 * 1. Each worker says that it is ready from within the handler of its first message, and only then does
 *    wasm-bindgen-rayon give it a thread to run: one that is still starting while its parent waits for it
 *    never would.
 * 2. The workers ring a bell in the shared memory when they need the owner, and may wait for it. The owner
 *    waits for the bell between messages, and for a worker only in calls that must.
 * 3. A worker that fails says so in the memory, where the owner sees it even during a call, and rings.
 */

import createGlue, { type PoolBuilder } from "../../wasm/glue_threads.js";
import { EngineError } from "../api/errors.ts";
import { compile, Module } from "../engine/module.ts";
import type { Pool } from "../engine/engine.ts";

/** The first message to a worker of the pool. */
export interface PoolStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  /** The addresses of what gives it its thread, and of the bell. */
  receiver: number;
  bell: number;
}

/** Message of a worker of the pool: it is ready, or failed. */
type PoolMessage = { ready: true } | { failed: string };

/** Offsets from the bell, as numbers of 32 bits: how often it rang, and whether a worker has failed. */
const RUNG = 0;
const FAILED = 1;

/** A pool that has started, with its module. */
class Workers implements Pool {
  onWork: () => void = () => undefined;
  #onFailure: (failure: EngineError) => void = () => undefined;
  #failure: EngineError | undefined;
  readonly #glue: ReturnType<typeof createGlue>;
  #module: Module | undefined;
  #bell: Int32Array = new Int32Array();
  #bellAt = 0;
  /** From their start on: Firefox collects workers that nothing refers to, and with them their threads. */
  readonly #workers: Worker[] = [];
  readonly #turns: MessageChannel = new MessageChannel();

  private constructor() {
    this.#glue = createGlue((...started) => this.#startWorkers(...started));
  }

  /** Starts the workers for `merges` merges at once, and for a flush beside them. */
  static async start(compiled: WebAssembly.Module, merges: number): Promise<[Module, Workers]> {
    const pool = new Workers();
    const module = new Module(pool.#glue, compiled);
    pool.#module = module;
    pool.#bellAt = pool.#glue.use_pool(merges);
    try {
      await pool.#glue.initThreadPool(merges + 1);
    } catch (error) {
      pool.end();
      throw error;
    }
    void pool.#listen();
    return [module, pool];
  }

  async #startWorkers(
    module: WebAssembly.Module,
    memory: WebAssembly.Memory,
    builder: PoolBuilder,
  ): Promise<void> {
    this.#bell = new Int32Array(memory.buffer, this.#bellAt, 2);
    const start = { module, memory, receiver: builder.receiver(), bell: this.#bellAt };
    // One after the other: Firefox hangs more often while it starts several at once.
    for (let thread = 0; thread < builder.numThreads(); thread++) await this.#startWorker(start);
    builder.build();
  }

  #startWorker(start: PoolStart): Promise<void> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(self.location.href, { type: "module", name: "terrane-pool" });
      this.#workers.push(worker);
      const fail = (why: string) => {
        reject(new Error(why));
        this.#fail(new EngineError(`a worker of the engine's pool failed: ${why}`));
      };
      worker.onerror = ({ message }) => fail(message || "its script could not be loaded");
      worker.onmessage = ({ data }: MessageEvent<PoolMessage>) => {
        if ("failed" in data) fail(data.failed);
        else resolve();
      };
      worker.postMessage(start);
    });
  }

  set onFailure(onFailure: (failure: EngineError) => void) {
    this.#onFailure = onFailure;
    const failure = this.#failure;
    if (failure !== undefined) queueMicrotask(() => onFailure(failure));
  }

  #fail(failure: EngineError): void {
    this.#failure = failure;
    this.#onFailure(failure);
  }

  /** Ends the workers. */
  end(): void {
    for (const worker of this.#workers.splice(0)) worker.terminate();
  }

  /** Does what the workers ask for whenever they ring. */
  async #listen(): Promise<void> {
    const bell = this.#bell;
    while (this.#workers.length > 0) {
      const rung = Atomics.load(bell, RUNG);
      try {
        if (this.#module?.call(() => this.#glue.serve())) this.onWork();
      } catch (error) {
        return this.#fail(error as EngineError);
      }
      const waiting = Atomics.waitAsync(bell, RUNG, rung);
      // It has rung again: messages that have arrived run before.
      await (waiting.async ? waiting.value : this.#turn());
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#turns.port1.onmessage = () => resolve();
      this.#turns.port2.postMessage(undefined);
    });
  }
}

/** Loads the build with threads, and starts a pool that runs `merges` merges at once. */
export async function loadThreads(merges: number): Promise<[Module, Pool]> {
  const url = new URL("terrane_threads_bg.wasm", import.meta.url);
  return Workers.start(await compile(url), merges);
}

/** Runs a thread of the pool in this worker, for as long as it lives. */
export function work({ module, memory, receiver, bell }: PoolStart): void {
  const glue = createGlue(() => Promise.reject(new Error("this is a worker of the pool")));
  /** Message of an engine built for development before it traps. */
  let panic: string | undefined;
  const say = (message: PoolMessage) => self.postMessage(message);
  try {
    glue.initSync({ module, memory });
    glue.on_panic((message: string) => {
      panic = message;
    });
    say({ ready: true });
    glue.wbg_rayon_start_worker(receiver);
  } catch (error) {
    const words = new Int32Array(memory.buffer, bell, 2);
    Atomics.store(words, FAILED, 1);
    Atomics.add(words, RUNG, 1);
    Atomics.notify(words, RUNG);
    say({ failed: panic ?? String(error) });
  }
}
