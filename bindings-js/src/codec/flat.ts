/**
 * Messages between a page and its own worker. Cloning objects takes as long as everything else that a page's code does
 * for a get, so the most frequent messages are no objects.
 *
 * 1. A single lookup, and a value that is text, are text: numbers, each with a space after it, then the key or the
 *    value. Cloning an array takes longer than writing and reading the numbers.
 * 2. The message of a single write, and of any other value, is an array of its fields.
 * 3. All others are arrays of requests or of replies.
 */

import type { Reply, Request } from "./protocol.ts";

/** A request for the value of one key. */
export type Lookup = Extract<Request, { op: "lookup" }>;

/** The fields of a request or of a reply, after its id. */
type Flat = [id: number, ...fields: unknown[]];

/** A message of requests. */
export type Requests = readonly Request[] | Flat | string;

/** A message of replies. */
export type Replies = readonly Reply[] | Flat | string;

export function packRequests(requests: readonly Request[]): Requests {
  const request = requests[0] as Request;
  if (requests.length > 1) return requests;
  const { id, op } = request;
  if (op === "lookup") {
    const { keyspace, snapshot, key, text } = request;
    return `${id} ${keyspace} ${snapshot} ${text ? 1 : 0} ${key}`;
  }
  if (op !== "write" || request.ends !== undefined || request.once !== undefined) return requests;
  return [id, request.batch, request.sync];
}

export function unpackRequests(message: Requests): readonly Request[] {
  if (typeof message === "string") return [unpackLookup(message)];
  if (!isFlat(message)) return message;
  const [id, batch, sync] = message as [number, Uint8Array, boolean];
  return [{ id, op: "write", batch, sync }];
}

/** Unpacks the message of a single lookup. */
export function unpackLookup(message: string): Lookup {
  let start = 0;
  const number = (): number => {
    const end = message.indexOf(" ", start);
    const value = Number(message.slice(start, end));
    start = end + 1;
    return value;
  };
  const [id, keyspace, snapshot, text] = [number(), number(), number(), number() === 1];
  return { id, op: "lookup", keyspace, snapshot, key: message.slice(start), text };
}

export function packReplies(replies: readonly Reply[]): Replies {
  const reply = replies[0] as Reply;
  if (replies.length > 1 || "error" in reply) return replies;
  const { id, value } = reply;
  return typeof value === "string" ? `${id} ${value}` : [id, value];
}

export function unpackReplies(message: Replies): readonly Reply[] {
  if (typeof message === "string") return [unpackText(message)];
  return isFlat(message) ? [{ id: message[0], value: message[1] }] : message;
}

/** Unpacks the message of a single value that is text. */
export function unpackText(message: string): { id: number; value: string } {
  const end = message.indexOf(" ");
  return { id: Number(message.slice(0, end)), value: message.slice(end + 1) };
}

function isFlat(message: readonly unknown[]): message is Flat {
  return typeof message[0] === "number";
}
