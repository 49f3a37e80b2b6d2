/** The page's side of a store that can lose its power. */

import type { Measured } from "./measure.ts";
import type { Reply, Request } from "./crash-worker.ts";

/** The store as it is. */
export type StoreState = Extract<Reply, { type: "state" }>;

/** A store in a worker of its own, which a crash ends. */
export class CrashStore {
  readonly #name: string;
  #worker: Worker | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Opens it, as a new store or as it was left. */
  open(fresh: boolean): Promise<StoreState> {
    this.#worker ??= new Worker(new URL("./crash-worker.ts", import.meta.url), { type: "module" });
    return this.#state({ do: "open", name: this.#name, fresh });
  }

  put(key: string, value: string, sync: boolean): Promise<StoreState> {
    return this.#state({ do: "put", key, value, sync });
  }

  delete(key: string, sync: boolean): Promise<StoreState> {
    return this.#state({ do: "delete", key, sync });
  }

  /** Loses the power; returns how many bytes were written and not synced. */
  async crash(): Promise<number> {
    const reply = await this.#ask({ do: "crash" });
    this.#end();
    return reply.type === "gone" ? reply.lost : 0;
  }

  async close(): Promise<void> {
    if (this.#worker !== undefined) await this.#ask({ do: "close" });
    this.#end();
  }

  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #state(request: Request): Promise<StoreState> {
    const reply = await this.#ask(request);
    if (reply.type !== "state")
      throw new Error(reply.type === "failed" ? reply.error : "It is gone.");
    return reply;
  }

  #ask(request: Request): Promise<Reply> {
    const worker = this.#worker;
    if (worker === undefined) return Promise.reject(new Error("The store is not open."));
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<Reply>) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message || "The worker did not start."));
      worker.postMessage(request);
    });
  }
}

/** Returns the number of ten puts that survive a crash if these are synced, counted from 1. */
export function survivors(synced: (put: number) => boolean): () => Promise<Measured> {
  return async () => {
    const store = new CrashStore("crash-question");
    await store.open(true);
    for (let put = 1; put <= 10; put++) await store.put(`key${put}`, "value", synced(put));
    await store.crash();
    const { entries } = await store.open(false);
    await store.close();
    return { value: entries.length };
  };
}
