/**
 * The thread of a store, as a page has it: with the interface of a browser's worker. It keeps the process alive while
 * calls are pending, and no longer.
 */

import { Worker as NodeWorker } from "node:worker_threads";
import { type Replies, type Requests, unpackReplies, unpackRequests } from "../codec/flat.ts";

/** The members of a browser's worker that a line uses. */
type Used = Pick<Worker, "onerror" | "onmessage" | "onmessageerror" | "postMessage" | "terminate">;

class Thread implements Used {
  onmessage: Worker["onmessage"] = null;
  onmessageerror: Worker["onmessageerror"] = null;
  onerror: Worker["onerror"] = null;
  readonly #thread: NodeWorker;
  /** The number of requests without a reply. */
  #pending = 0;
  #terminated = false;

  constructor(script: URL) {
    // Flags of the process are about its own script.
    const thread = new NodeWorker(script, { execArgv: [] });
    this.#thread = thread;
    thread.unref();
    thread.on("message", (data: Replies) => {
      this.#count(-unpackReplies(data).filter(({ id }) => id !== 0).length);
      this.onmessage?.call(this.#worker, { data } as MessageEvent);
    });
    thread.on("messageerror", (data) => {
      this.onmessageerror?.call(this.#worker, { data } as unknown as MessageEvent);
    });
    thread.on("error", (error: unknown) => this.#failed(String(error), error));
    thread.on("exit", (code) => this.#failed(`it ended with the code ${code}`, undefined));
  }

  postMessage(message: Requests, options: unknown): void {
    this.#thread.postMessage(message, options as ArrayBuffer[]);
    this.#count(unpackRequests(message).length);
  }

  terminate(): void {
    this.#terminated = true;
    void this.#thread.terminate();
  }

  #count(change: number): void {
    this.#pending += change;
    if (this.#pending > 0) this.#thread.ref();
    else this.#thread.unref();
  }

  #failed(message: string, error: unknown): void {
    if (this.#terminated) return;
    const event = { message, error } as ErrorEvent;
    (this.onerror as ((event: ErrorEvent) => void) | null)?.call(this.#worker, event);
  }

  get #worker(): Worker {
    return this as unknown as Worker;
  }
}

/** Starts the thread of a store, which runs `script`. */
export function startThread(script: URL = new URL("./worker.js", import.meta.url)): Worker {
  return new Thread(script) as unknown as Worker;
}
