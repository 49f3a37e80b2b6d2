/**
 * The worker of this page, over its messages.
 *
 * 1. The worker holds a lock as long as it lives, which its first reply names. The page requests that lock, which it
 *    should never get: getting it means that the worker died.
 * 2. Until that reply the page holds a lock of its own. A worker that does not see it has other locks than the page, as
 *    after the origin's storage was cleared, and names none.
 */

import { EngineError } from "../api/errors.ts";
import { packRequests, type Replies, unpackReplies, unpackText } from "../codec/flat.ts";
import { pageLock, type Request } from "../codec/protocol.ts";
import { invalid } from "../codec/validate.ts";
import { later } from "#load";
import { delay } from "../shared/delay.ts";
import { holdLock } from "../shared/hold-lock.ts";
import { notLoaded } from "../shared/not-loaded.ts";
import type { Receiver, Sender } from "./line.ts";

/** The most milliseconds for which replies of a worker that has ended are on their way. */
export const LAST_REPLIES = 500;

export class OwnWorker implements Sender {
  readonly #worker: Worker;
  readonly #receiver: Receiver;
  readonly #lifeline: AbortController = new AbortController();

  /** Whether the worker has sent a message: its script has started. */
  #started = false;

  /** Starts the worker, or throws. */
  constructor(start: () => Worker, receiver: Receiver) {
    this.#receiver = receiver;
    const worker = startWith(start);
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Replies>) => {
      this.#started = true;
      if (typeof data === "string") receiver.receiveValue(unpackText(data));
      else receiver.receive(unpackReplies(data));
    };
    worker.onmessageerror = () => receiver.fail(new EngineError("a reply could not be read"));
    worker.onerror = (event) => void this.#failed(start, event);
  }

  post(requests: readonly Request[], buffers: ArrayBuffer[]): void {
    const message = packRequests(requests);
    if (buffers.length === 0) this.#worker.postMessage(message);
    else this.#worker.postMessage(message, buffers);
  }

  waits(): void {
    // Its lock is enough.
  }

  /** Ends the worker. */
  end(): void {
    this.unwatch();
    this.#worker.terminate();
  }

  async #failed(start: () => Worker, event: ErrorEvent): Promise<void> {
    const { error: cause, message } = event;
    const failure = this.#started
      ? new EngineError(`the store's worker failed: ${message}`, { cause })
      : await later().then(
          ({ notStarted }) => notStarted(start, event),
          (error) => error,
        );
    this.#receiver.fail(failure);
  }

  /** Fails the pending calls when the worker that holds this lock dies. */
  async watch(lock: string): Promise<void> {
    const { signal } = this.#lifeline;
    const died = async () => {
      // A worker that has closed its store releases the lock as well, which may be seen before its last reply.
      await delay(LAST_REPLIES, signal);
      if (signal.aborted) return;
      this.#receiver.fail(new EngineError("the store's worker ended unexpectedly"));
    };
    try {
      await navigator.locks.request(lock, { signal }, died);
    } catch {
      // The worker is no longer watched, or the browser has no locks.
    }
  }

  /** No longer expects the worker to live. */
  unwatch(): void {
    this.#lifeline.abort();
  }
}

/** Makes the first call of a worker while it can see that this page shares its locks. */
export async function seen<T>(client: string, call: () => Promise<T>): Promise<T> {
  // Several openings may have it.
  const release = await holdLock(pageLock(client), { mode: "shared" }).catch(() => undefined);
  try {
    return await call();
  } finally {
    release?.();
  }
}

function startWith(start: () => Worker): Worker {
  let worker: Worker | undefined;
  try {
    worker = start();
  } catch (cause) {
    throw notLoaded("the store's worker", cause, cause);
  }
  if (typeof worker?.postMessage === "function") return worker;
  throw invalid("worker", "a function that returns a Worker", worker);
}
