/**
 * The worker of the page that leads, over a channel that it shares with this client alone.
 *
 * 1. The worker's first message says that it serves this client.
 * 2. The worker holds a lock as long as it has the store; this client gets it when the worker is gone.
 * 3. A worker that lives but may be stopped cannot be replaced. Only while calls wait, and nothing arrives, it is
 *    asked whether it still serves; after the timeout the calls fail.
 */

import { BusyError } from "../api/errors.ts";
import type { Reply, Request } from "../codec/protocol.ts";
import { type Leader, lineChannel, parseMessage } from "../codec/sharing.ts";
import type { Receiver, Sender } from "./line.ts";

/** The least time in which a worker that serves others as well can be expected to answer, in milliseconds. */
const ANSWER_TIME = 1000;
/** The number of questions that may stay unanswered. */
const QUESTIONS = 4;

export class LeaderWorker implements Sender {
  /** Resolves to whether the worker serves this client, or is gone. */
  readonly joined: Promise<boolean>;
  readonly #channel: BroadcastChannel;
  readonly #receiver: Receiver;
  readonly #leader: Leader;
  readonly #ended: AbortController = new AbortController();
  readonly #timeout: number;
  #timer: ReturnType<typeof setInterval> | undefined;
  #unanswered = 0;

  constructor(leader: Leader, client: string, timeout: number, receiver: Receiver) {
    this.#receiver = receiver;
    this.#leader = leader;
    this.#timeout = Math.max(timeout, ANSWER_TIME);
    this.#channel = new BroadcastChannel(lineChannel(leader.id, client));
    this.joined = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#noAnswer()), this.#timeout);
      this.#channel.onmessage = ({ data }: MessageEvent<unknown>) => {
        this.#unanswered = 0;
        clearTimeout(timer);
        resolve(true);
        const replies = parseMessage<Reply>(data);
        if (replies !== undefined) receiver.receive(replies);
      };
      const { signal } = this.#ended;
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve(false);
      });
      const gone = () => {
        resolve(false);
        if (!signal.aborted) receiver.leaves({ successor: undefined });
      };
      // Shared: all clients of the worker get it. It is rejected when this line ends.
      navigator.locks.request(leader.lock, { mode: "shared", signal }, gone).catch(() => undefined);
    });
  }

  post(requests: readonly Request[]): void {
    this.#channel.postMessage(requests);
  }

  waits(any: boolean): void {
    clearInterval(this.#timer);
    this.#unanswered = 0;
    if (any) this.#timer = setInterval(() => this.#ask(), this.#timeout / (QUESTIONS + 1));
  }

  end(): void {
    this.waits(false);
    this.#ended.abort();
    this.#channel.close();
  }

  #ask(): void {
    if (this.#unanswered++ < QUESTIONS) return this.post([{ op: "ping", id: 0 }]);
    this.waits(false);
    this.#receiver.failPending(this.#noAnswer());
  }

  #noAnswer(): BusyError {
    const where = `the page that has the store open, ${this.#leader.page}, does not answer`;
    return new BusyError(`${where}; a write may still take effect`);
  }
}
