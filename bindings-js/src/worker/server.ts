/**
 * Serves the clients of an open store, in turns of a message each.
 *
 * 1. Requests of a client are served in the order in which they arrive. The reply to a sync write waits for a sync,
 *    which all writes of all clients that have arrived by then share.
 * 2. Long calls run in steps between messages: flushes, compactions, checks, copies.
 * 3. A close or a suspension by the page that started the worker ends it. Both sync. A close waits for the page's long
 *    calls; a suspension aborts them. Those of other clients are aborted without a reply: they are sent again.
 * 4. After the engine traps, every request fails with its message.
 */

import { AbortError } from "../api/errors.ts";
import type { Lookup } from "../codec/flat.ts";
import { encodeError } from "../codec/thrown.ts";
import type { Operation, Outcome, Reply, Request } from "../codec/protocol.ts";
import type { Engine } from "../engine/engine.ts";
import { StartedTask } from "../engine/tasks.ts";
import { attempt } from "./attempt.ts";
import { Client, type Send } from "./client.ts";
import { Dispatcher } from "./dispatcher.ts";

/** The operations that end the worker, or a client. */
const ENDS: ReadonlySet<Operation["op"]> = new Set(["close", "suspend", "handOver"] as const);

/**
 * The messages with nothing but lookups after which background jobs get a turn all the same: what is read may lead to
 * some. A turn after each would take a fifth of a lookup's time.
 */
const LOOKUPS_MAX = 64;

/** A long call in progress. */
interface Task {
  client: Client;
  /** Whether it waits for a change: another worker can be asked as well. */
  isWatch: boolean;
  end: Promise<void>;
}

export class Server {
  readonly engine: Engine;
  /** The page that started the worker. */
  readonly page: Client;
  readonly #clients: Set<Client> = new Set();
  /** Replies to sync writes that wait for their sync. */
  #unacknowledged: { client: Client; reply: Reply }[] = [];
  readonly #tasks: Set<Task> = new Set();
  #busy = false;
  /** The messages since the last turn; others count as many with nothing but lookups. */
  #lookups = 0;
  /** Whether long calls of other clients end without a reply. */
  #leaving = false;
  /** Called after messages were served, and after long calls have ended. */
  onServed: () => void = () => undefined;
  /** Returns whether the store may be closed for another client to lead. */
  mayLeave: () => boolean = () => this.idle;
  /** Called when the page asks to close the store, before it is closed. */
  onPageClose: () => Promise<void> = () => Promise.resolve();
  /** Called when the store is about to be closed. */
  onClose: () => void = () => undefined;

  constructor(engine: Engine, id: string | undefined, visible: boolean, send: Send) {
    this.engine = engine;
    this.page = new Client(new Dispatcher(engine, id, undefined), visible, send);
    this.#clients.add(this.page);
    engine.onFailure = (failure) => {
      // The page is the first client, and ends this worker when it learns of it.
      const clients = [...this.#clients].reverse();
      for (const client of clients) client.post([{ id: 0, error: encodeError(failure) }]);
    };
    engine.onTurn = () => {
      if (this.#unacknowledged.length > 0) this.#acknowledge(attempt(() => engine.sync()));
      for (const { dispatcher } of this.#clients) dispatcher.watches.answer();
    };
  }

  /** Whether no client has a snapshot, an iteration, an export or another long call. */
  get idle(): boolean {
    const waits = [...this.#tasks].every(({ isWatch }) => isWatch);
    return waits && [...this.#clients].every(({ dispatcher }) => !dispatcher.holds);
  }

  /** Adds a client. */
  add(id: string, visible: boolean, send: Send): Client {
    const client = new Client(new Dispatcher(this.engine, id, this.engine.view()), visible, send);
    this.#clients.add(client);
    this.engine.clients = this.#clients.size;
    return client;
  }

  /** Releases what a client has, which is gone. */
  remove(client: Client): void {
    if (!this.#clients.delete(client)) return;
    client.end();
    client.dispatcher.watches.endAll();
    client.dispatcher.end();
    this.engine.clients = this.#clients.size;
    this.#setListens(client, false);
  }

  /** Serves a message of the page with nothing but a lookup, without making a list of it. */
  receiveLookup(lookup: Lookup): void {
    if (this.#busy) return void this.page.inbox.push([lookup]);
    this.#lookups += 1;
    const outcome = attempt(() => this.page.dispatcher.perform(lookup));
    this.page.post([{ ...outcome, id: lookup.id }]);
    this.#served();
  }

  /** Serves a message. */
  receive(client: Client, requests: readonly Request[]): void {
    for (const { op } of requests) {
      // At once: the page may be gone before the requests ahead of this one are served.
      if (op === "suspend" && client === this.page) this.#abortTasks();
    }
    if (this.#busy) return void client.inbox.push(requests);
    this.#busy = true;
    // Usually nothing has to wait, and no other message comes between.
    const rest = this.#serveMessage(client, requests);
    if (rest === undefined) this.#served();
    else void this.#serve(rest);
  }

  /** Waits for the rest of a message, then serves messages that arrived meanwhile. */
  async #serve(first: Promise<void>): Promise<void> {
    await first;
    for (let found = true; found;) {
      found = false;
      for (const client of this.#clients) {
        const requests = client.inbox.shift();
        if (requests === undefined) continue;
        found = true;
        const rest = this.#serveMessage(client, requests);
        if (rest !== undefined) await rest;
      }
    }
    this.#served();
  }

  /** Notes that nothing is left to serve. */
  #served(): void {
    this.#busy = false;
    // The requests may have created background jobs.
    if (this.#lookups >= LOOKUPS_MAX && !this.engine.closed) {
      this.#lookups = 0;
      this.engine.scheduleTurn();
    }
    this.onServed();
  }

  /** Serves a message in one turn, unless one of its requests must wait. */
  #serveMessage(client: Client, requests: readonly Request[]): Promise<void> | undefined {
    const replies: Reply[] = [];
    const isLookup = requests.every(({ op }) => op === "get" || op === "lookup");
    this.#lookups += isLookup ? 1 : LOOKUPS_MAX;
    for (const [at, request] of requests.entries()) {
      const isLast = ENDS.has(request.op);
      const outcome = isLast ? undefined : attempt(() => this.#perform(client, request));
      const value = outcome !== undefined && "value" in outcome ? outcome.value : undefined;
      if (outcome === undefined || value instanceof Promise) {
        client.post(replies);
        const rest = requests.slice(at + 1);
        return this.#serveRest(client, request, value as Promise<unknown> | undefined, rest);
      }
      this.#settle(client, request, outcome, replies);
    }
    client.post(replies);
    return undefined;
  }

  /** Serves a request that must wait, and those after it. */
  async #serveRest(
    client: Client,
    request: Request,
    started: Promise<unknown> | undefined,
    rest: readonly Request[],
  ): Promise<void> {
    const replies: Reply[] = [];
    const outcome = await outcomeOf(started ?? this.#end(client, request));
    this.#settle(client, request, outcome, replies);
    client.post(replies);
    await this.#serveMessage(client, rest);
  }

  /** Takes the reply to a request, or lets it wait for its task or a sync. */
  #settle(client: Client, request: Request, outcome: Outcome, replies: Reply[]): void {
    const { id, op } = request;
    if ("value" in outcome && outcome.value instanceof StartedTask) {
      this.#replyAtEnd(client, id, outcome.value, op === "watch");
    } else if (op === "write" && request.sync && "value" in outcome) {
      this.#unacknowledged.push({ client, reply: { ...outcome, id } });
    } else {
      replies.push({ ...outcome, id });
    }
  }

  #perform(client: Client, operation: Operation): unknown {
    switch (operation.op) {
      case "listen":
        return this.#setListens(client, operation.on);
      case "show":
        client.visible = operation.visible;
        return undefined;
      case "open":
      case "import":
      case "importBytes":
      case "endImport":
      case "destroy":
      case "ping":
      case "handOver":
        return undefined;
      default:
        return client.dispatcher.perform(operation);
    }
  }

  /** Closes the store for a client; for the page that started the worker, it is closed for all. */
  async #end(client: Client, request: Request): Promise<unknown> {
    if (request.op === "handOver" && !this.mayLeave()) return false;
    this.#acknowledge(attempt(() => this.engine.sync()));
    client.dispatcher.watches.endAll();
    await this.#ended((task) => task.client === client);
    // What another client has is released once its lock is free.
    if (client !== this.page) return undefined;
    this.#abortTasks();
    await this.#ended(() => true);
    if (request.op === "close") await this.onPageClose();
    // The close reports what it finds.
    await this.engine.verify().catch(() => undefined);
    this.onClose();
    for (const other of this.#clients) if (other !== client) other.dispatcher.end();
    const outcome = attempt(() => client.dispatcher.perform({ op: "close" }));
    // It has synced the writes that still waited.
    this.#acknowledge(outcome);
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }

  /** Waits for long calls. */
  async #ended(which: (task: Task) => boolean): Promise<void> {
    await Promise.all([...this.#tasks].filter(which).map(({ end }) => end));
  }

  /** Syncs, and aborts the long calls in progress. */
  #abortTasks(): void {
    this.#leaving = true;
    attempt(() => this.engine.sync());
    const why = new AbortError("the call was aborted: the page was suspended");
    this.engine.abort(why);
    for (const client of this.#clients) {
      if (client !== this.page) client.dispatcher.watches.endAll(why);
    }
  }

  /** Replies to the request with that id when its task ends; others are served meanwhile. */
  #replyAtEnd(client: Client, id: number, { end }: StartedTask<unknown>, isWatch: boolean): void {
    const task: Task = {
      client,
      isWatch,
      end: outcomeOf(end).then((outcome) => {
        this.#tasks.delete(task);
        const isSentAgain = this.#leaving && client !== this.page && "error" in outcome;
        if (!isSentAgain) client.postSoon({ ...outcome, id });
        if (!this.#busy) this.onServed();
      }),
    };
    this.#tasks.add(task);
  }

  /** Replies to the writes that waited for a sync, whose outcome this is. */
  #acknowledge(outcome: Outcome): void {
    const waited = this.#unacknowledged;
    this.#unacknowledged = [];
    const failed = "error" in outcome;
    for (const client of new Set(waited.map((one) => one.client))) {
      const replies = waited.filter((one) => one.client === client).map(({ reply }) => reply);
      client.post(failed ? replies.map(({ id }) => ({ ...outcome, id })) : replies);
    }
  }

  /** Turns events on or off for a client. */
  #setListens(client: Client, on: boolean): void {
    client.listens = on;
    const any = [...this.#clients].some(({ listens }) => listens);
    if (this.engine.closed) return;
    this.engine.call((store) => store.listen(any ? this.#emit : undefined));
  }

  #emit = (event: string): void => {
    for (const client of this.#clients) if (client.listens) client.emit(event);
  };
}

function outcomeOf(promise: Promise<unknown>): Promise<Outcome> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: encodeError(error) }),
  );
}
