/**
 * What a store's worker does: it owns the files, and runs the engine between messages.
 *
 * 1. The first message opens the store or starts an import; the worker then holds a lock, which the
 *    reply names. Or it destroys a store.
 * 2. Once the store is open, its clients are served (server.ts): the page that started the worker, and those that
 *    share the store (sharing.ts).
 */

import { ClosedError } from "../api/errors.ts";
import { encodeError } from "../codec/thrown.ts";
import { packReplies, type Requests, unpackLookup, unpackRequests } from "../codec/flat.ts";
import {
  type Opened,
  type OpenRequest,
  type Operation,
  pageLock,
  type Reply,
  type Request,
} from "../codec/protocol.ts";
import { destroyFiles, holdLifeLock, Import } from "#platform";
import { Engine } from "../engine/engine.ts";
import { StartedTask } from "../engine/tasks.ts";
import { heldLocks } from "../shared/hold-lock.ts";
import type { Send } from "./client.ts";
import { Server } from "./server.ts";
import { Membership } from "./sharing.ts";

let server: Server | undefined;
let importing: Import | undefined;
/** Aborted when an import is given up, also while it still waits for its files. */
const importAborter = new AbortController();
/** Requests that have arrived but were not served yet, until there is a server. */
const inbox: Request[] = [];
let busy = false;

const send: Send = (replies, buffers) => {
  const message = packReplies(replies);
  if (buffers.length === 0) self.postMessage(message);
  else self.postMessage(message, buffers);
};

/** Serves requests of the page that started the worker. */
export function receive(message: Requests): void {
  if (server !== undefined && !busy) {
    if (typeof message === "string") server.receiveLookup(unpackLookup(message));
    else server.receive(server.page, unpackRequests(message));
    return;
  }
  for (const request of unpackRequests(message)) {
    inbox.push(request);
    if (request.op === "endImport" && !request.complete) importAborter.abort();
  }
  if (!busy) void serve();
}

/** Serves the requests that have arrived, until the store is open. */
async function serve(): Promise<void> {
  busy = true;
  for (let request = inbox.shift(); request !== undefined; request = inbox.shift()) {
    const reply = await perform(request);
    if (reply !== undefined) send([reply], []);
    if (server !== undefined) break;
  }
  busy = false;
  if (server !== undefined && inbox.length > 0) server.receive(server.page, inbox.splice(0));
}

/** Performs an operation before a store is open; its reply may follow later. */
async function perform({ id, ...operation }: Request): Promise<Reply | undefined> {
  try {
    const value = await start(operation);
    if (!(value instanceof StartedTask)) return { id, value };
    void value.end.then(
      (value) => send([{ id, value }], []),
      (error: unknown) => send([{ id, error: encodeError(error) }], []),
    );
    return undefined;
  } catch (error) {
    return { id, error: encodeError(error) };
  }
}

function start(operation: Operation): unknown {
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
      throw new ClosedError("the store is closed");
  }
}

/** Starts an import; returns the name of the lock that this worker holds until its end. */
async function startImport(request: OpenRequest): Promise<string | undefined> {
  importing = await Import.start(request, importAborter.signal);
  return ifShared(importing.holderLock, request);
}

/** Returns a lock of this worker if it shares its locks with the page that started it. */
async function ifShared(
  lock: string | undefined,
  { client }: OpenRequest,
): Promise<string | undefined> {
  return lock !== undefined && (await heldLocks()).includes(pageLock(client)) ? lock : undefined;
}

/** Opens the store. */
async function open(request: OpenRequest): Promise<Opened> {
  const engine = await Engine.open(request);
  const { name, page, leader, sharing } = request;
  const lock = engine.files === undefined ? await holdLifeLock() : engine.files.holderLock;
  const shared = await ifShared(lock, request);
  const store = engine.call((store) => store.id());
  server = new Server(engine, sharing?.client, sharing?.visible ?? true, send);
  if (leader !== undefined && sharing !== undefined && lock !== undefined) {
    engine.reopens = true;
    new Membership(server, name, { id: leader, lock, page, store }, sharing.client);
  }
  return { lock: shared, store };
}
