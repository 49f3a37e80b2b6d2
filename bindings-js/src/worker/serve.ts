/**
 * What a store's worker does: it owns the files, and runs the engine between messages.
 *
 * 1. The first message opens the store or starts an import; the worker then holds a lock, which the
 *    reply names. Or it destroys a store.
 * 2. Requests are served in the order in which they arrive. The reply to a sync write waits for a sync,
 *    which all writes that have arrived by then share.
 * 3. Long calls run in steps between messages: flushes, compactions, checks, copies. A close syncs and
 *    then waits for them; suspending the page aborts them.
 * 4. Watches are answered in a turn of their own, after the replies to the writes that they report.
 * 5. Events are sent along with the next replies, or on their own after a delay.
 * 6. After the engine traps, every request fails with its message.
 */

import { AbortError, ClosedError } from "../api/errors.ts";
import { encodeError } from "../codec/error-codec.ts";
import type { OpenRequest, Operation, Outcome, Page, Reply, Request } from "../codec/protocol.ts";
import { destroyFiles, holdLifeLock, Import } from "#platform";
import { StartedTask } from "../engine/tasks.ts";
import { attempt } from "./attempt.ts";
import { Dispatcher } from "./dispatcher.ts";

/** Longest wait of an event for replies to go along with, in milliseconds. */
const EVENT_DELAY = 50;

let dispatcher: Dispatcher | undefined;
let importing: Import | undefined;
/** Aborted when an import is given up, also while it still waits for its files. */
const importAborter = new AbortController();
/** Replies to sync writes that wait for their sync. */
let unacknowledged: Reply[] = [];
/** Long calls in progress. */
const tasks: Set<Promise<void>> = new Set();
/** Requests that have arrived but were not served yet. */
const inbox: Request[] = [];
let busy = false;
/** Events that have yet to be sent. */
let events: string[] = [];

/** Serves requests that have arrived. */
export function receive(requests: readonly Request[]): void {
  for (const request of requests) {
    inbox.push(request);
    // At once: the page may be gone before the requests ahead of this one are served.
    if (request.op === "suspend") abortTasks();
    if (request.op === "endImport" && !request.complete) importAborter.abort();
  }
  if (!busy) void serve();
}

/**
 * Serves the requests that have arrived, in one turn unless one of them must wait: a close releases its
 * lock only after the reply was sent.
 */
async function serve(): Promise<void> {
  busy = true;
  const replies: Reply[] = [];
  for (const request of inbox) {
    const { id, op } = request;
    const isLast = op === "close" || op === "suspend";
    if (isLast) {
      post(replies.splice(0));
      await finish();
    }
    let outcome = attempt(() => perform(request));
    if ("value" in outcome && outcome.value instanceof Promise) {
      post(replies.splice(0));
      outcome = await outcomeOf(outcome.value);
    }
    if ("value" in outcome && outcome.value instanceof StartedTask) {
      replyAtEnd(id, outcome.value);
      continue;
    }
    if (op === "write" && request.sync && "value" in outcome) {
      unacknowledged.push({ ...outcome, id });
      continue;
    }
    // The close has synced the writes that still waited.
    if (isLast) acknowledge(outcome);
    replies.push({ ...outcome, id });
  }
  inbox.length = 0;
  busy = false;
  post(replies);
  // The requests may have created background jobs.
  dispatcher?.engine.scheduleTurn();
}

/** Syncs, and aborts the long calls in progress. */
function abortTasks(): void {
  if (dispatcher === undefined) return;
  const { engine } = dispatcher;
  attempt(() => engine.sync());
  engine.abort(new AbortError("the call was aborted: the page was suspended"));
}

/** Prepares a close: syncs, waits for long calls, and verifies the files. */
async function finish(): Promise<void> {
  if (dispatcher === undefined) return;
  const { engine } = dispatcher;
  if (unacknowledged.length > 0) acknowledge(attempt(() => engine.sync()));
  else attempt(() => engine.sync());
  dispatcher.watches.endAll();
  await Promise.all(tasks);
  // The close reports what it finds.
  await engine.verify().catch(() => undefined);
}

/** Replies to the request with that id when its task ends; others are served meanwhile. */
function replyAtEnd(id: number, { end }: StartedTask<unknown>): void {
  const going = outcomeOf(end).then((outcome) => {
    tasks.delete(going);
    post([{ ...outcome, id }]);
  });
  tasks.add(going);
}

/** Performs an operation. */
function perform(operation: Operation): unknown {
  switch (operation.op) {
    case "open":
      return open(operation);
    case "import":
      return startImport(operation);
    case "importBytes":
      return importing?.write(operation.bytes);
    case "endImport":
      return importing && new StartedTask(importing.end(operation.complete));
    case "destroy":
      return destroyFiles(operation);
    default:
      if (dispatcher === undefined) throw new ClosedError("the store is closed");
      return dispatcher.perform(operation);
  }
}

/** Starts an import; returns the name of the lock that this worker holds until its end. */
async function startImport(request: OpenRequest): Promise<string | undefined> {
  importing = await Import.start(request, importAborter.signal);
  return importing.holderLock;
}

/** Opens the store; returns the name of the lock that this worker holds from now on. */
async function open(request: OpenRequest): Promise<string | undefined> {
  dispatcher = await Dispatcher.open(request, emit);
  const { engine } = dispatcher;
  engine.onFailure = (failure) => post([{ id: 0, error: encodeError(failure) }]);
  engine.onTurn = () => {
    if (unacknowledged.length > 0) acknowledge(attempt(() => engine.sync()));
    dispatcher?.watches.answer();
  };
  return engine.files === undefined ? holdLifeLock() : engine.files.holderLock;
}

function outcomeOf(promise: Promise<unknown>): Promise<Outcome> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: encodeError(error) }),
  );
}

/** Replies to the writes that waited for a sync, whose outcome this is. */
function acknowledge(outcome: Outcome): void {
  const replies = unacknowledged;
  unacknowledged = [];
  post("error" in outcome ? replies.map(({ id }) => ({ ...outcome, id })) : replies);
}

/** Sends an event soon. */
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

/** Sends replies; one that cannot be cloned fails its own call and no other. */
function send(replies: readonly Reply[]): void {
  try {
    self.postMessage(replies, buffersOf(replies));
  } catch (why) {
    const [first] = replies;
    if (replies.length > 1) for (const reply of replies) send([reply]);
    else if (first !== undefined) self.postMessage([toText(first, why)]);
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
    const bytes: unknown = isPage(value) ? value.bytes : value;
    if (bytes instanceof Uint8Array) buffers.push(bytes.buffer as ArrayBuffer);
  }
  return buffers;
}

function isPage(value: unknown): value is Page {
  return typeof value === "object" && value !== null && "bytes" in value;
}
