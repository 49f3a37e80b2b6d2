/**
 * A store's worker: it owns the files, and runs the engine between messages.
 *
 * 1. The first message opens the store, or begins to import one; a lock is held from then on, and
 *    the reply names it. Or it has a store destroyed.
 * 2. Messages are carried out in the order in which they come. The reply to a sync write waits for
 *    one sync that serves the writes of all messages that have come by then.
 * 3. What takes its time goes in steps between messages: flushes, compactions, checks, copies. A
 *    close syncs, and then waits for them; a page that is put aside has them called off.
 * 4. Events travel with the next replies, or by themselves when none is sent for a while.
 * 5. When the engine traps, every later request is refused with what it said.
 */

import { Import } from "./copies.ts";
import { destroyFiles } from "./destroy.ts";
import { AbortError, ClosedError } from "./errors.ts";
import { Host } from "./host.ts";
import { showLife } from "./locks.ts";
import type { OpenRequest, Operation, Outcome, Page, Reply, Request } from "./protocol.ts";
import { Task } from "./steps.ts";
import { toWire } from "./wire.ts";

/** How long an event may wait for replies to travel with, in milliseconds. */
const EVENT_DELAY = 50;

let host: Host | undefined;
let importing: Import | undefined;
/** The replies to sync writes, which wait for their sync. */
let unacknowledged: Reply[] = [];
/** What goes in steps, and is under way. */
const underWay: Set<Promise<void>> = new Set();
/** Requests that have come, while an earlier one takes its time. */
const inbox: Request[] = [];
let busy = false;
/** Events that wait to be sent. */
let events: string[] = [];

self.onmessage = ({ data: requests }: MessageEvent<Request[]>) => {
  for (const request of requests) inbox.push(request);
  // The page may be gone before what is being waited for has come.
  if (requests.some(({ op }) => op === "leave")) callOff();
  if (!busy) void serve();
};

/** Serves what has come. Without a pause, unless a request needs one: a lock falls after its reply. */
async function serve(): Promise<void> {
  busy = true;
  const replies: Reply[] = [];
  for (const request of inbox) {
    const { id, op } = request;
    const isLast = op === "close" || op === "leave";
    if (isLast) {
      post(replies.splice(0));
      await finish();
    }
    let outcome = attempt(() => perform(request));
    if ("value" in outcome && outcome.value instanceof Promise) {
      post(replies.splice(0));
      outcome = await settled(outcome.value);
    }
    if ("value" in outcome && outcome.value instanceof Task) {
      follow(id, outcome.value);
      continue;
    }
    if (op === "write" && request.sync && "value" in outcome) {
      unacknowledged.push({ ...outcome, id });
      continue;
    }
    // The close synced what still waited.
    if (isLast) acknowledge(outcome);
    replies.push({ ...outcome, id });
  }
  inbox.length = 0;
  busy = false;
  post(replies);
  // Whatever was done may have left jobs.
  host?.engine.askTurn();
}

/** Syncs, and ends what is under way. */
function callOff(): void {
  if (host === undefined) return;
  const { engine } = host;
  attempt(() => engine.sync());
  engine.callOff(new AbortError("the call was called off: the page was put aside"));
}

/** What comes before a store is closed: what was written is durable first. */
async function finish(): Promise<void> {
  if (host === undefined) return;
  const { engine } = host;
  if (unacknowledged.length > 0) acknowledge(attempt(() => engine.sync()));
  else attempt(() => engine.sync());
  await Promise.all(underWay);
  // What it finds, the close reports.
  await engine.verify().catch(() => undefined);
}

/** Replies to the request of that id at its end; others are served meanwhile. */
function follow(id: number, { end }: Task<unknown>): void {
  const going = settled(end).then((outcome) => {
    underWay.delete(going);
    post([{ ...outcome, id }]);
  });
  underWay.add(going);
}

/** Carries out an operation. */
function perform(operation: Operation): unknown {
  switch (operation.op) {
    case "open":
      return open(operation);
    case "import":
      return Import.begin(operation).then((begun) => void (importing = begun));
    case "importBytes":
      return importing?.write(operation.bytes);
    case "endImport":
      return importing && new Task(importing.end(operation.whole));
    case "destroy":
      return destroyFiles(operation);
    default:
      if (host === undefined) throw new ClosedError("the store is closed");
      return host.perform(operation);
  }
}

/** Opens the store; the name of the lock that is held from then on. */
async function open(request: OpenRequest): Promise<string | undefined> {
  host = await Host.open(request, emit);
  const { engine } = host;
  engine.onFailure = (failure) => post([{ id: 0, error: toWire(failure) }]);
  engine.onTurn = () => {
    if (unacknowledged.length > 0) acknowledge(attempt(() => engine.sync()));
  };
  return engine.place === undefined ? showLife() : engine.place.lock;
}

function settled(promise: Promise<unknown>): Promise<Outcome> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: toWire(error) }),
  );
}

function attempt(body: () => unknown): Outcome {
  try {
    return { value: body() };
  } catch (error) {
    return { error: toWire(error) };
  }
}

/** Replies to the writes that wait for a sync, of which this is the outcome. */
function acknowledge(outcome: Outcome): void {
  const replies = unacknowledged;
  unacknowledged = [];
  post("error" in outcome ? replies.map(({ id }) => ({ ...outcome, id })) : replies);
}

/** Sends an event, soon. */
function emit(event: string): void {
  if (events.length === 0) setTimeout(sendEvents, EVENT_DELAY);
  events.push(event);
}

function sendEvents(): void {
  if (events.length === 0) return;
  const sent = events;
  events = [];
  self.postMessage([{ id: 0, value: sent }]);
}

function post(replies: Reply[]): void {
  if (replies.length === 0) return;
  const sent = events;
  events = [];
  send(sent.length === 0 ? replies : [{ id: 0, value: sent }, ...replies]);
}

/** Sends replies; one that cannot be cloned fails its call, and no other. */
function send(replies: readonly Reply[]): void {
  try {
    self.postMessage(replies, buffersOf(replies));
  } catch (why) {
    const [first] = replies;
    if (replies.length > 1) for (const reply of replies) send([reply]);
    else if (first !== undefined) self.postMessage([toText(first, why)]);
  }
}

/** A reply that could not be cloned, as one that can. */
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
    const bytes = isPage(value) ? value.strings : value;
    if (bytes instanceof Uint8Array) buffers.push(bytes.buffer as ArrayBuffer);
  }
  return buffers;
}

function isPage(value: unknown): value is Page {
  return typeof value === "object" && value !== null && "strings" in value;
}
