/**
 * A worker, and the calls to it that are pending.
 *
 * The worker holds a lock as long as it lives. The line requests that lock, which it should never get:
 * getting it means that the worker died, and every pending call fails.
 */

import {
  ClosedError,
  EngineError,
  InvalidArgumentError,
  type TerraneError,
  UnavailableError,
} from "../api/errors.ts";
import { decodeError } from "../codec/error-codec.ts";
import type { Operation, Reply, Request } from "../codec/protocol.ts";
import { invalid } from "../codec/validate.ts";
import type { Call } from "./outbox.ts";

/** The most milliseconds for which replies of a worker that has ended are on their way. */
export const LAST_REPLIES = 500;

/** The owner of a line. */
export interface LineOwner {
  /** Events of the engine arrived, each as JSON. */
  onEvents(events: readonly string[]): void;
  /** The worker died, or its engine crashed. */
  onEnd(error: TerraneError): void;
}

export class Line {
  readonly #worker: Worker;
  readonly #owner: LineOwner | undefined;
  readonly #waiting: Map<number, Call> = new Map();
  readonly #lifeline: AbortController = new AbortController();
  #nextId = 1;
  #ended: TerraneError | undefined;

  /** Starts the worker, or throws. */
  constructor(start: () => Worker, owner?: LineOwner) {
    this.#owner = owner;
    const worker = startWith(start);
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<Reply[]>) => this.#receive(event.data);
    worker.onmessageerror = () => this.#fail(new EngineError("a reply could not be read"));
    worker.onerror = (event) => {
      const cause: unknown = event.error;
      const what = event.message || "its script could not be loaded";
      this.#fail(new EngineError(`the store's worker failed: ${what}`, { cause }));
    };
  }

  /** Returns the reason why no more calls are accepted. */
  get ended(): TerraneError | undefined {
    return this.#ended;
  }

  /** Sends one operation; resolves to the value of its reply. */
  call(operation: Operation): Promise<unknown> {
    return new Promise((resolve, reject) => this.send([{ operation, resolve, reject }]));
  }

  /** Sends calls in one message. */
  send(calls: readonly Call[]): void {
    if (this.#ended !== undefined) return rejectAll(calls, this.#ended);
    const requests: Request[] = [];
    const buffers: ArrayBuffer[] = [];
    for (const { operation } of calls) {
      requests.push({ ...operation, id: this.#nextId++ });
      if (operation.op === "write") buffers.push(operation.batch.buffer as ArrayBuffer);
      if (operation.op === "get") buffers.push(operation.keys.buffer as ArrayBuffer);
    }
    try {
      this.#worker.postMessage(requests, buffers);
    } catch (cause) {
      if (calls.length > 1) return calls.forEach((call) => this.send([call]));
      const message = `expected arguments that can be sent to a worker, found others: ${cause}`;
      return rejectAll(calls, new InvalidArgumentError(message, { cause }));
    }
    const first = this.#nextId - calls.length;
    calls.forEach((call, at) => this.#waiting.set(first + at, call));
  }

  /** Notifies the owner when the worker that holds this lock dies. */
  async watch(lock: string): Promise<void> {
    const { signal } = this.#lifeline;
    const died = async () => {
      // A worker that has closed its store releases the lock as well, which may be seen before its last reply.
      await new Promise((passed) => {
        setTimeout(passed, LAST_REPLIES);
        signal.addEventListener("abort", passed);
      });
      if (!signal.aborted) this.#fail(new EngineError("the store's worker ended unexpectedly"));
    };
    try {
      // After its storage was cleared, an origin's new workers do not share locks with old pages.
      const { held = [] } = await navigator.locks.query();
      if (!held.some(({ name }) => name === lock)) return;
      await navigator.locks.request(lock, { signal }, died);
    } catch {
      // The worker is no longer watched, or the browser has no locks.
    }
  }

  /** No longer expects the worker to live. */
  unwatch(): void {
    this.#lifeline.abort();
  }

  /** Ends the worker; pending and later calls fail with `error`. */
  end(error: TerraneError = new ClosedError("the worker has ended")): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.unwatch();
    this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    rejectAll(waiting, error);
  }

  #fail(error: TerraneError): void {
    if (this.#ended !== undefined) return;
    this.end(error);
    this.#owner?.onEnd(error);
  }

  #receive(replies: readonly Reply[]): void {
    if (this.#ended !== undefined) return;
    for (const reply of replies) {
      const call = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("error" in reply) {
        const error = decodeError(reply.error);
        call?.reject(error);
        // The engine crashed.
        if (reply.id === 0) this.#fail(error);
      } else if (reply.id === 0) {
        this.#owner?.onEvents(reply.value as string[]);
      } else {
        call?.resolve(reply.value);
      }
    }
  }
}

function startWith(start: () => Worker): Worker {
  let worker: Worker | undefined;
  try {
    worker = start();
  } catch (cause) {
    const message = `the store's worker could not be started: ${cause}`;
    throw new UnavailableError(message, { cause });
  }
  if (typeof worker?.postMessage === "function") return worker;
  throw invalid("worker", "a function that returns a Worker", worker);
}

function rejectAll(calls: readonly Call[], error: TerraneError): void {
  for (const { reject } of calls) reject(error);
}
