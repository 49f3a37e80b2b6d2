/**
 * Messages between a page and its own worker. Cloning objects takes as long as everything else that a page's code does
 * for a get, so the message of a single lookup or write, and of a single reply, is an array of its fields. All others
 * are arrays of requests or of replies.
 */

import type { Reply, Request } from "./protocol.ts";

/** The fields of a request or of a reply, after its id. */
type Flat = [id: number, ...fields: unknown[]];

/** A message of requests. */
export type Requests = readonly Request[] | Flat;

/** A message of replies. */
export type Replies = readonly Reply[] | Flat;

export function packRequests(requests: readonly Request[]): Requests {
  const request = requests[0] as Request;
  if (requests.length > 1) return requests;
  const { id, op } = request;
  if (op === "lookup") {
    const { keyspace, snapshot, key, text } = request;
    return [id, keyspace, snapshot, key, text];
  }
  if (op !== "write" || request.ends !== undefined || request.once !== undefined) return requests;
  return [id, request.batch, request.sync];
}

export function unpackRequests(message: Requests): readonly Request[] {
  if (!isFlat(message)) return message;
  const [id, ...fields] = message;
  if (fields.length === 2) {
    const [batch, sync] = fields as [Uint8Array, boolean];
    return [{ id, op: "write", batch, sync }];
  }
  const [keyspace, snapshot, key, text] = fields as [number, number, string, boolean];
  return [{ id, op: "lookup", keyspace, snapshot, key, text }];
}

export function packReplies(replies: readonly Reply[]): Replies {
  const reply = replies[0] as Reply;
  return replies.length > 1 || "error" in reply ? replies : [reply.id, reply.value];
}

export function unpackReplies(message: Replies): readonly Reply[] {
  return isFlat(message) ? [{ id: message[0], value: message[1] }] : message;
}

function isFlat(message: readonly unknown[]): message is Flat {
  return typeof message[0] === "number";
}
