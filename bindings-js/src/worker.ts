/**
 * A store's worker: it owns the files, and runs the engine between messages.
 *
 * 1. The first message opens the store, or begins to import one; a lock is held from then on, and
 *    the reply names it. Or it has a store destroyed.
 * 2. Messages are carried out in the order in which they come. The reply to a sync write waits for
 *    one sync that serves the writes of all messages that have come by then.
 * 3. What takes its time goes in steps between messages: flushes, compactions, checks, copies. A
 *    close waits for them.
 * 4. When the engine traps, every later request is refused with what it said.
 */

import { Import } from "./copies.ts";
import { destroyFiles } from "./destroy.ts";
import { ClosedError } from "./errors.ts";
import { Host } from "./host.ts";
import type { OpenRequest, Operation, Outcome, Page, Reply, Request } from "./protocol.ts";
import { Begun } from "./steps.ts";
import { toWire } from "./wire.ts";

let host: Host | undefined;
let importing: Import | undefined;
/** Sync writes that wait for their sync. */
let unacknowledged: number[] = [];
/** What goes in steps, and is under way. */
const underWay: Set<Promise<void>> = new Set();
/** Requests that have come, while an earlier one takes its time. */
const inbox: Request[] = [];
let busy = false;

self.onmessage = ({ data: requests }: MessageEvent<Request[]>) => {
  inbox.push(...requests);
  if (!busy) void serve();
};

/** Answers what has come. Without a pause, unless an answer needs one: a lock falls after its reply. */
async function serve(): Promise<void> {
  busy = true;
  const replies: Reply[] = [];
  for (const request of inbox) {
    const { id, op } = request;
    if (op === "close") {
      post(replies.splice(0));
      await Promise.all(underWay);
      // What it finds, the close tells.
      await host?.engine.verify().catch(() => undefined);
    }
    let outcome = attempt(() => perform(request));
    if ("value" in outcome && outcome.value instanceof Promise) {
      post(replies.splice(0));
      outcome = await settled(outcome.value);
    }
    if ("value" in outcome && outcome.value instanceof Begun) {
      follow(id, outcome.value);
      continue;
    }
    if (op === "write" && request.sync && "value" in outcome) {
      unacknowledged.push(id);
      continue;
    }
    // The close synced what still waited.
    if (op === "close") acknowledge(outcome);
    replies.push({ ...outcome, id });
  }
  inbox.length = 0;
  busy = false;
  post(replies);
  // Whatever was done may have left jobs.
  host?.engine.askTurn();
}

/** Answers the request of that id at its end; others are served meanwhile. */
function follow(id: number, { end }: Begun<unknown>): void {
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
      return importing && new Begun(importing.end(operation.whole));
    case "destroy":
      return destroyFiles(operation);
    default:
      if (host === undefined) throw new ClosedError("the store is closed");
      return host.perform(operation);
  }
}

/** Opens the store; the name of the lock that is held from then on. */
async function open(request: OpenRequest): Promise<string | undefined> {
  host = await Host.open(request, (event) => post([{ id: 0, value: event }]));
  const { engine } = host;
  engine.onFailure = (failure) => post([{ id: 0, error: toWire(failure) }]);
  engine.onTurn = () => {
    if (unacknowledged.length > 0) acknowledge(attempt(() => engine.sync()));
  };
  return engine.place?.lock;
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

/** Gives the outcome of a sync to the writes that wait for it. */
function acknowledge(outcome: Outcome): void {
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
    const bytes = isPage(value) ? value.strings : value;
    if (bytes instanceof Uint8Array) buffers.push(bytes.buffer as ArrayBuffer);
  }
  self.postMessage(replies, buffers);
}

function isPage(value: unknown): value is Page {
  return typeof value === "object" && value !== null && "strings" in value;
}
