/**
 * A store's worker: it owns the files, and runs the engine between messages.
 *
 * 1. The first message opens the store; its reply names the lock that is held from then on.
 * 2. A later request is carried out as it comes. The reply to a sync write waits for one sync that
 *    serves the writes of all messages that have come by then.
 * 3. Between messages the engine's jobs (flushes, compactions) run in slices.
 * 4. Buffered writes are synced when the interval since the first of them is over.
 * 5. When the engine traps, every later request is refused with what it said.
 */

import { toWire, type WireError } from "./errors.ts";
import { Host } from "./host.ts";
import type { Operation, Reply, Request } from "./protocol.ts";

/** How much of a job is done before messages are looked at again. */
const SLICE_BYTES = 256 << 10;

let host: Host | undefined;
/** Why requests are refused while there is no host. */
let refusal: WireError = { code: "CLOSED", message: "the store is closed" };
let syncInterval = 0;
let syncTimer: ReturnType<typeof setTimeout> | undefined;
/** Sync writes that wait for their sync. */
let unacknowledged: number[] = [];

/** A message to itself takes its turn after those that have come before. */
const turn = new MessageChannel();
let turnAsked = false;
turn.port1.onmessage = takeTurn;

self.onmessage = async ({ data: requests }: MessageEvent<Request[]>) => {
  const replies: Reply[] = [];
  for (const request of requests) {
    const { id } = request;
    if (request.op === "open") {
      replies.push(await open(request, id));
      continue;
    }
    const reply = answer(id, request);
    if (request.op === "write" && "value" in reply) {
      if (request.sync) {
        unacknowledged.push(id);
        continue;
      }
      syncTimer ??= setTimeout(syncNow, syncInterval);
    }
    if (request.op === "close") {
      // The close synced what still waited.
      acknowledge(reply);
      host = undefined;
    }
    replies.push(reply);
  }
  post(replies);
  askTurn();
};

async function open(request: Request & { op: "open" }, id: number): Promise<Reply> {
  try {
    host = await Host.open(request);
    syncInterval = request.syncInterval;
    return { id, value: host.lock };
  } catch (error) {
    refusal = toWire(error);
    return { id, error: refusal };
  }
}

/** Carries out an operation. */
function answer(id: number, operation: Operation): Reply {
  if (host === undefined) return { id, error: refusal };
  try {
    return { id, value: host.perform(operation) };
  } catch (thrown) {
    const error = toWire(thrown);
    if (error.code === "ENGINE") {
      refusal = error;
      host = undefined;
    }
    return { id, error };
  }
}

function askTurn(): void {
  if (turnAsked) return;
  turnAsked = true;
  turn.port2.postMessage(undefined);
}

function takeTurn(): void {
  turnAsked = false;
  if (unacknowledged.length > 0) syncNow();
  const jobs = answer(0, { op: "jobs", bytes: SLICE_BYTES });
  // A job that failed is tried again when the engine sees fit; the write that needs it fails.
  if ("value" in jobs && jobs.value === true) askTurn();
}

function syncNow(): void {
  acknowledge(answer(0, { op: "sync" }));
}

/** Gives the outcome of a sync to the writes that wait for it. */
function acknowledge(outcome: Reply): void {
  clearTimeout(syncTimer);
  syncTimer = undefined;
  const ids = unacknowledged;
  unacknowledged = [];
  post(ids.map((id) => ({ ...outcome, id })));
}

function post(replies: Reply[]): void {
  if (replies.length === 0) return;
  const buffers: ArrayBuffer[] = [];
  for (const reply of replies) {
    if (!("value" in reply)) continue;
    const { value } = reply;
    const bytes = isPage(value) ? value.pairs : value;
    if (bytes instanceof Uint8Array) buffers.push(bytes.buffer as ArrayBuffer);
  }
  self.postMessage(replies, buffers);
}

function isPage(value: unknown): value is { pairs: Uint8Array } {
  return typeof value === "object" && value !== null && "pairs" in value;
}
