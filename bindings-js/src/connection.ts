/**
 * A store's worker as the page has it, through all that happens to a page.
 *
 * 1. When the page is put aside, the worker is told to sync, to call long work off and to let go of
 *    the store; one that is still opening it is ended. Calls made from then on wait. A page that is
 *    shown again starts a new worker, and sends them when that has opened the store.
 * 2. Where that fails, as when another page has the store by now, the calls that wait fail with the
 *    reason, and the next call tries again.
 * 3. A new worker gets back the keyspaces, by the engine's ids of them, and the listeners. Snapshots
 *    and iterations ended with the old one.
 */

import { EngineError, type TerraneError } from "./errors.ts";
import { Listeners } from "./events.ts";
import { Line } from "./line.ts";
import { type Call, Outbox } from "./outbox.ts";
import { watchPage } from "./page.ts";
import type { Operation, OpenRequest } from "./protocol.ts";

/** How long the last replies of a worker are waited for, in milliseconds. */
const LAST_REPLIES = 500;

/** A keyspace that was opened, under a number. */
export interface OpenedKeyspace {
  keyspace: number;
  opened: Promise<unknown>;
}

/** A worker that was told to let go of the store, and when it has. */
interface Leaving {
  line: Line;
  left: Promise<unknown>;
}

export class Connection {
  /** The calls that are yet to be sent. */
  readonly outbox: Outbox = new Outbox(() => this.#flush());
  /** Who listens to the engine's events. */
  readonly listeners: Listeners = new Listeners((on) => this.#listen(on));
  /** Settles when the store is open for the first time, or cannot be opened. */
  readonly ready: Promise<void>;
  /** How many use this connection. */
  users: number = 0;
  readonly #start: () => Worker;
  readonly #onEnd: () => void;
  readonly #unwatchPage: () => void;
  /** The keyspaces that were opened, by name. */
  readonly #keyspaces: Map<string, OpenedKeyspace> = new Map();
  /** The engine's ids of keyspaces, by their numbers. */
  readonly #ids: Map<number, number> = new Map();
  #request: OpenRequest;
  /** "away": shown again, but the store could not be opened. */
  #state: "opening" | "open" | "hidden" | "away" | "closed" = "opening";
  #line: Line | undefined;
  #leaving: Leaving | undefined;
  /** Names the opening that is under way: a later one, or a page put aside, takes its place. */
  #attempt: object | undefined;
  #wasOpen = false;
  #settleReady: { resolve: () => void; reject: (error: TerraneError) => void } | undefined;
  #nextNumber = 1;

  /** Starts a worker and has it open a store; `onEnd` is called when it takes no call any more. */
  constructor(start: () => Worker, request: OpenRequest, onEnd: () => void) {
    this.#start = start;
    this.#request = request;
    this.#onEnd = onEnd;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // A store in memory lets nobody in, and would be gone.
    const onFiles = request.storage === "opfs";
    this.#unwatchPage = onFiles ? watchPage(this.#page) : () => undefined;
    void this.#connect();
  }

  /** The store's name. */
  get name(): string {
    return this.#request.name;
  }

  /** Numbers what the caller names before the worker knows it. */
  number(): number {
    return this.#nextNumber++;
  }

  /** Opens a keyspace, unless it is open and keeps its policy. */
  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace {
    const known = this.#keyspaces.get(name);
    if (known !== undefined && policy === undefined) return known;
    const keyspace = known?.keyspace ?? this.number();
    const args = [keyspace, name, create, policy];
    const opened = this.outbox.add({ op: "call", method: "keyspace", args }).then(
      (id) => this.#ids.set(keyspace, id as number),
      (error: unknown) => {
        this.forgetKeyspace(name);
        throw error;
      },
    );
    ignore(opened);
    const now = { keyspace, opened };
    this.#keyspaces.set(name, now);
    return now;
  }

  /** The next keyspace of this name is another. */
  forgetKeyspace(name: string): void {
    this.#keyspaces.delete(name);
  }

  /** Syncs and closes the store and ends the worker. */
  async close(closed: TerraneError): Promise<void> {
    if (this.#state === "closed") return;
    try {
      const isAside = this.#state === "hidden" || this.#state === "away";
      if (isAside && this.outbox.isEmpty) {
        await this.#leaving?.left;
      } else {
        const closing = this.outbox.add({ op: "close" });
        this.#flush();
        // A store that could not be taken again is closed already.
        await closing.catch((error: unknown) => {
          if (this.#state !== "away") throw error;
        });
      }
    } finally {
      this.end(closed);
    }
  }

  /** Ends the worker; every call that waits, and every later one, fails with `error`. */
  end(error: TerraneError): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#attempt = undefined;
    this.#unwatchPage();
    this.#onEnd();
    this.outbox.close(error);
    this.#line?.end(error);
    this.#leaving?.line.end(error);
    this.#settleReady?.reject(error);
    this.listeners.end(error);
  }

  async #connect(): Promise<void> {
    this.#state = "opening";
    const attempt = {};
    this.#attempt = attempt;
    // Most often it let go long ago.
    await this.#lastReplies();
    let line: Line | undefined;
    try {
      if (this.#attempt !== attempt) return;
      line = new Line(this.#start, {
        onEvents: (events) => this.listeners.read(events),
        // One that is opening says so by its reply.
        onEnd: (error) => this.#state === "open" && this.#line === line && this.end(error),
      });
      this.#line = line;
      const lock = (await line.call({ op: "open", ...this.#request })) as string | undefined;
      await this.#endLeaving();
      if (this.#attempt !== attempt) return;
      if (line.ended !== undefined) throw line.ended;
      if (lock !== undefined) void line.watch(lock);
    } catch (error) {
      line?.end(error as TerraneError);
      await this.#endLeaving();
      if (this.#attempt === attempt) this.#failed(error as TerraneError);
      return;
    }
    this.#state = "open";
    if (this.#wasOpen) this.#restore(line);
    this.#wasOpen = true;
    // From now on it must be there, with what was made of it since.
    this.#request = { ...this.#request, create: false, errorIfExists: false, keepPolicy: true };
    this.#settleReady?.resolve();
    this.#flush();
  }

  #failed(error: TerraneError): void {
    if (!this.#wasOpen) return this.end(error);
    this.#line = undefined;
    this.#state = "away";
    this.outbox.fail(error);
  }

  /** Ends the worker before this one, which has let go of the store, or died. */
  async #endLeaving(): Promise<void> {
    await this.#lastReplies();
    this.#leaving?.line.end(new EngineError("the store's worker ended unexpectedly"));
    this.#leaving = undefined;
  }

  /** Waits for the replies of a worker that lets go of the store; one that died sends none. */
  async #lastReplies(): Promise<void> {
    if (this.#leaving === undefined) return;
    const { left } = this.#leaving;
    await Promise.race([left, new Promise((passed) => setTimeout(passed, LAST_REPLIES))]);
  }

  /** Tells a new worker what the last one knew. */
  #restore(line: Line): void {
    const known = [...this.#ids].map(([keyspace, id]): Operation => ({
      op: "call",
      method: "keyspace_again",
      args: [keyspace, id],
    }));
    if (this.listeners.any) known.push({ op: "listen", on: true });
    const nobody = () => undefined;
    line.send(known.map((operation): Call => ({ operation, resolve: nobody, reject: nobody })));
  }

  #listen(on: boolean): void {
    ignore(this.outbox.add({ op: "listen", on }));
    if (!on) return;
    const names = this.outbox.add({ op: "call", method: "keyspaces", args: [] });
    ignore(names.then((names) => this.listeners.learn(names as string)));
  }

  #page = {
    hide: (): void => {
      const [line, state] = [this.#line, this.#state];
      if (state === "open" && line !== undefined) {
        this.#flush();
        const done = () => undefined;
        this.#leaving = { line, left: line.call({ op: "leave" }).then(done, done) };
        line.unwatch();
      }
      this.#line = undefined;
      this.#attempt = undefined;
      this.#state = "hidden";
      // One that is opening has nothing yet that could be lost.
      if (state === "opening") line?.end(new EngineError("the page was put aside"));
    },
    show: (): void => {
      if (this.#state === "hidden") void this.#connect();
    },
    conceal: (): void => {
      if (this.#state !== "open") return;
      ignore(this.outbox.add({ op: "call", method: "sync", args: [] }));
      this.#flush();
    },
  };

  #flush(): void {
    if (this.outbox.isEmpty) return;
    if (this.#state === "open") this.#line?.send(this.outbox.take());
    else if (this.#state === "away") void this.#connect();
  }
}

/** Leaves alone how a call ends: a later one fails for the same reason. */
export function ignore(called: Promise<unknown>): void {
  called.catch(() => undefined);
}
