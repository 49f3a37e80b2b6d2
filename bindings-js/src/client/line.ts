/**
 * The line to a store's worker, and the calls on it that are pending. The worker is this page's own (own-worker.ts) or
 * that of the page which leads (follower-line.ts).
 */

import { ClosedError, InvalidArgumentError, type TerraneError } from "../api/errors.ts";
import { decodeError } from "../codec/error-codec.ts";
import {
  COPIED_BYTES,
  type Leaves,
  type Operation,
  type Reply,
  type Request,
} from "../codec/protocol.ts";
import type { Call } from "./outbox.ts";

/** The owner of a line. */
export interface LineOwner {
  /** Events of the engine arrived, each as JSON. */
  onEvents(events: readonly string[]): void;
  /** The worker died, or its engine crashed; pending calls have failed. */
  onEnd(error: TerraneError): void;
  /** Another client will lead. */
  onLeaves(leaves: Leaves): void;
}

/** The receiving end of a line. */
export interface Receiver {
  receive(replies: readonly Reply[]): void;
  /** Receives the value of a single request. */
  receiveValue(value: { id: number; value: unknown }): void;
  /** The worker died: pending calls fail. */
  fail(error: TerraneError): void;
  /** Pending calls fail, later ones are sent. */
  failPending(error: TerraneError): void;
  /** The worker serves this client no longer: pending calls can be sent to the next. */
  leaves(leaves: Leaves): void;
}

/** The sending end of a line. */
export interface Sender {
  /** Sends requests; throws if they cannot be cloned. */
  post(requests: readonly Request[], buffers: ArrayBuffer[]): void;
  /** Called when calls wait for replies, and when none does any longer. */
  waits(any: boolean): void;
  end(): void;
}

export class Line {
  readonly #sender: Sender;
  readonly #owner: LineOwner | undefined;
  readonly #waiting: Map<number, Call> = new Map();
  #nextId = 1;
  #ended: TerraneError | undefined;

  /** Calls `start`, which opens the line or throws. */
  constructor(start: (receiver: Receiver) => Sender, owner?: LineOwner) {
    this.#owner = owner;
    this.#sender = start({
      receive: (replies) => this.#receive(replies),
      receiveValue: ({ id, value }) => this.#receiveValue(id, value),
      fail: (error) => this.#fail(error),
      failPending: (error) => rejectAll(this.#takeWaiting(), error),
      leaves: (leaves) => this.#ended === undefined && owner?.onLeaves(leaves),
    });
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
    if (calls.length === 0) return;
    if (this.#ended !== undefined) return rejectAll(calls, this.#ended);
    const requests: Request[] = [];
    const buffers: ArrayBuffer[] = [];
    for (const { operation } of calls) {
      requests.push({ ...operation, id: this.#nextId++ });
      const bytes =
        operation.op === "write"
          ? operation.batch
          : operation.op === "get"
            ? operation.keys
            : undefined;
      if (bytes !== undefined && bytes.buffer.byteLength > COPIED_BYTES) {
        buffers.push(bytes.buffer as ArrayBuffer);
      }
    }
    try {
      this.#sender.post(requests, buffers);
    } catch (cause) {
      if (calls.length > 1) return calls.forEach((call) => this.send([call]));
      const message = `expected arguments that can be sent to a worker, found others: ${cause}`;
      return rejectAll(calls, new InvalidArgumentError(message, { cause }));
    }
    if (this.#waiting.size === 0) this.#sender.waits(true);
    const first = this.#nextId - calls.length;
    calls.forEach((call, at) => this.#waiting.set(first + at, call));
  }

  /** Ends the line; returns the pending calls, in order. */
  take(): Call[] {
    const waiting = this.#takeWaiting();
    this.end();
    return waiting;
  }

  /** Ends the line; pending and later calls fail with `error`. */
  end(error: TerraneError = new ClosedError("the worker has ended")): void {
    if (this.#ended !== undefined) return;
    this.#ended = error;
    this.#sender.end();
    rejectAll(this.#takeWaiting(), error);
  }

  #takeWaiting(): Call[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }

  #fail(error: TerraneError): void {
    if (this.#ended !== undefined) return;
    this.end(error);
    this.#owner?.onEnd(error);
  }

  #receiveValue(id: number, value: unknown): void {
    if (this.#ended !== undefined) return;
    this.#takeCall(id)?.resolve(value);
    this.#stopWaitingIfIdle();
  }

  /** Removes and returns the pending call with this id. */
  #takeCall(id: number): Call | undefined {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    return call;
  }

  #stopWaitingIfIdle(): void {
    if (this.#waiting.size === 0 && this.#ended === undefined) this.#sender.waits(false);
  }

  #receive(replies: readonly Reply[]): void {
    if (this.#ended !== undefined) return;
    for (const reply of replies) {
      const call = this.#takeCall(reply.id);
      if ("error" in reply) {
        const error = decodeError(reply.error);
        call?.reject(error);
        // The engine crashed.
        if (reply.id === 0) this.#fail(error);
      } else if (reply.id === 0) {
        if (Array.isArray(reply.value)) this.#owner?.onEvents(reply.value as string[]);
        else this.#owner?.onLeaves(reply.value as Leaves);
      } else {
        call?.resolve(reply.value);
      }
    }
    this.#stopWaitingIfIdle();
  }
}

function rejectAll(calls: readonly Call[], error: TerraneError): void {
  for (const { reject } of calls) reject(error);
}
