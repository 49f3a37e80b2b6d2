/** Messages of the page to a worker, each with a reply. */

import { messageOf } from "../message.ts";

/** The reply where a message failed. */
export interface Failed {
  type: "failed";
  error: string;
}

/** Performs what the page asks for, one after the other, and replies to each. */
export function replyInTurn<Request, Reply>(perform: (request: Request) => Promise<Reply>): void {
  let turn: Promise<void> = Promise.resolve();
  addEventListener("message", ({ data }: MessageEvent<Request>) => {
    turn = turn
      .then(() => perform(data))
      .catch((error: unknown): Failed => {
        return { type: "failed", error: messageOf(error) };
      })
      .then((reply) => postMessage(reply));
  });
}
