/** A client of a store's worker: the page that started it, or another page or worker that shares the store. */

import { COPIED_BYTES, type Page, type Reply, type Request } from "../codec/protocol.ts";
import type { Dispatcher } from "./dispatcher.ts";

/** Longest wait of an event for replies to go along with, in milliseconds. */
const EVENT_DELAY = 50;

/** Sends a message; one that cannot be cloned throws. */
export type Send = (replies: readonly Reply[], buffers: ArrayBuffer[]) => void;

export class Client {
  readonly dispatcher: Dispatcher;
  readonly #send: Send;
  /** Messages that have arrived but were not served yet. */
  readonly inbox: (readonly Request[])[] = [];
  /** Whether it wants events. */
  listens: boolean = false;
  /** Whether its page is visible. */
  visible: boolean;
  /** Events that have yet to be sent. */
  #events: string[] = [];
  /** Replies of this turn that have yet to be sent. */
  #late: Reply[] = [];
  #gone = false;

  constructor(dispatcher: Dispatcher, visible: boolean, send: Send) {
    this.dispatcher = dispatcher;
    this.visible = visible;
    this.#send = send;
  }

  /** Sends an event soon. */
  emit(event: string): void {
    if (this.#events.length === 0) setTimeout(() => this.#sendEvents(), EVENT_DELAY);
    this.#events.push(event);
  }

  /** Sends replies, with the events so far. */
  post(replies: readonly Reply[]): void {
    if (replies.length === 0 || this.#gone) return;
    const sent = this.#events;
    this.#events = [];
    this.#sendAll(sent.length === 0 ? replies : [{ id: 0, value: sent }, ...replies]);
  }

  /** Sends a reply in one message with others of this turn: a batch may change many watches. */
  postSoon(reply: Reply): void {
    if (this.#late.length === 0) queueMicrotask(() => this.post(this.#late.splice(0)));
    this.#late.push(reply);
  }

  /** Receives nothing any longer, and is served no longer. */
  end(): void {
    this.#gone = true;
    this.inbox.length = 0;
  }

  #sendEvents(): void {
    if (this.#events.length === 0 || this.#gone) return;
    const sent = this.#events;
    this.#events = [];
    this.#send([{ id: 0, value: sent }], []);
  }

  /** Sends replies; one that cannot be cloned fails its own call and no other. */
  #sendAll(replies: readonly Reply[]): void {
    try {
      this.#send(replies, buffersOf(replies));
    } catch (why) {
      const [first] = replies;
      if (replies.length > 1) for (const reply of replies) this.#sendAll([reply]);
      else if (first !== undefined) this.#send([toText(first, why)], []);
    }
  }
}

/** Replaces a reply that cannot be cloned by one that can. */
function toText(reply: Reply, why: unknown): Reply {
  const { id } = reply;
  if ("error" in reply) {
    return { id, error: { ...reply.error, cause: String(reply.error.cause) } };
  }
  return { id, error: { code: "io", message: `the reply could not be sent: ${why}` } };
}

function buffersOf(replies: readonly Reply[]): ArrayBuffer[] {
  const buffers: ArrayBuffer[] = [];
  for (const reply of replies) {
    if (!("value" in reply)) continue;
    const { value } = reply;
    const bytes = isPage(value) ? value.bytes : value;
    if (bytes instanceof Uint8Array && bytes.length > COPIED_BYTES) {
      buffers.push(bytes.buffer as ArrayBuffer);
    }
  }
  return buffers;
}

function isPage(value: unknown): value is Page {
  return typeof value === "object" && value !== null && "bytes" in value;
}
