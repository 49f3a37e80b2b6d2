/**
 * A page's connection to a store's worker, which outlives the worker when the page is suspended.
 *
 * 1. When the page is suspended, the worker is asked to sync, to abort long calls and to release the
 *    store; a worker that is still opening it is ended. Later calls wait. When the page resumes, it
 *    starts a new worker, and the calls are sent once that has opened the store.
 * 2. If the store cannot be opened again, for example because another page has it now, the waiting
 *    calls fail with the reason, and the next call tries again.
 * 3. A new worker is given the keyspaces, by the engine's ids, and the listeners. Snapshots and
 *    iterations end with the previous worker.
 */

import { EngineError, type TerraneError } from "../api/errors.ts";
import type { OpenRequest, Operation } from "../codec/protocol.ts";
import { ignoreResult } from "../shared/abort.ts";
import { Listeners } from "../shared/events.ts";
import type { OpenedKeyspace } from "../store/port.ts";
import { LAST_REPLIES, Line } from "./line.ts";
import { type Call, Outbox } from "./outbox.ts";
import { watchPage } from "./page-lifecycle.ts";

/** A worker that was asked to release the store; `released` resolves once it has. */
interface Releasing {
  line: Line;
  released: Promise<unknown>;
}

export class Connection {
  /** The calls that have yet to be sent. */
  readonly outbox: Outbox = new Outbox(() => this.#flush());
  /** The listeners to the engine's events. */
  readonly listeners: Listeners = new Listeners((on) => this.#listen(on));
  /** Settles when the store is open for the first time, or cannot be opened. */
  readonly ready: Promise<void>;
  /** The number of sessions that use this connection. */
  users: number = 0;
  readonly #start: () => Worker;
  readonly #onEnd: () => void;
  readonly #unwatchPage: () => void;
  /** The keyspaces that were opened, by name. */
  readonly #keyspaces: Map<string, OpenedKeyspace> = new Map();
  /** The engine's ids of keyspaces, by their numbers. */
  readonly #ids: Map<number, number> = new Map();
  #request: OpenRequest;
  /** "detached": resumed, but the store could not be opened again. */
  #state: "opening" | "open" | "suspended" | "detached" | "closed" = "opening";
  #line: Line | undefined;
  #releasing: Releasing | undefined;
  /** Identifies the opening in progress; a later one, or suspending the page, supersedes it. */
  #attempt: object | undefined;
  #wasOpen = false;
  #settleReady: { resolve: () => void; reject: (error: TerraneError) => void } | undefined;
  #nextNumber = 1;

  /** Starts a worker that opens a store; `onEnd` is called once no more calls are accepted. */
  constructor(start: () => Worker, request: OpenRequest, onEnd: () => void) {
    this.#start = start;
    this.#request = request;
    this.#onEnd = onEnd;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // A store in memory keeps nobody else out, and would be lost.
    const onFiles = request.storage === "opfs";
    this.#unwatchPage = onFiles ? watchPage(this.#page) : () => undefined;
    void this.#connect();
  }

  /** The store's name. */
  get name(): string {
    return this.#request.name;
  }

  /** Assigns a number to a keyspace or a snapshot. */
  number(): number {
    return this.#nextNumber++;
  }

  /** Opens a keyspace, unless it is open and its policy stays the same. */
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
    ignoreResult(opened);
    const now = { keyspace, opened };
    this.#keyspaces.set(name, now);
    return now;
  }

  /** The keyspace of this name was dropped. */
  forgetKeyspace(name: string): void {
    this.#keyspaces.delete(name);
  }

  /** Syncs and closes the store and ends the worker. */
  async close(closed: TerraneError): Promise<void> {
    if (this.#state === "closed") return;
    try {
      const isReleased = this.#state === "suspended" || this.#state === "detached";
      if (isReleased && this.outbox.isEmpty) {
        await this.#releasing?.released;
      } else {
        const closing = this.outbox.add({ op: "close" });
        this.#flush();
        // A store that could not be opened again is already closed.
        await closing.catch((error: unknown) => {
          if (this.#state !== "detached") throw error;
        });
      }
    } finally {
      this.end(closed);
    }
  }

  /** Ends the worker; pending and later calls fail with `error`. */
  end(error: TerraneError): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#attempt = undefined;
    this.#unwatchPage();
    this.#onEnd();
    this.outbox.close(error);
    this.#line?.end(error);
    this.#releasing?.line.end(error);
    this.#settleReady?.reject(error);
    this.listeners.end(error);
  }

  async #connect(): Promise<void> {
    this.#state = "opening";
    const attempt = {};
    this.#attempt = attempt;
    // Usually it released the store long ago.
    await this.#lastReplies();
    let line: Line | undefined;
    try {
      if (this.#attempt !== attempt) return;
      line = new Line(this.#start, {
        onEvents: (events) => this.listeners.dispatch(events),
        // While it is opening the store, its reply carries the error.
        onEnd: (error) => this.#state === "open" && this.#line === line && this.end(error),
      });
      this.#line = line;
      const lock = (await line.call({ op: "open", ...this.#request })) as string | undefined;
      await this.#endReleasing();
      if (this.#attempt !== attempt) return;
      if (line.ended !== undefined) throw line.ended;
      if (lock !== undefined) void line.watch(lock);
    } catch (error) {
      line?.end(error as TerraneError);
      await this.#endReleasing();
      if (this.#attempt === attempt) this.#failed(error as TerraneError);
      return;
    }
    this.#state = "open";
    if (this.#wasOpen) this.#restore(line);
    this.#wasOpen = true;
    // From now on the store must exist, and keeps what it has become.
    this.#request = { ...this.#request, create: false, errorIfExists: false, keepPolicy: true };
    this.#settleReady?.resolve();
    this.#flush();
  }

  #failed(error: TerraneError): void {
    if (!this.#wasOpen) return this.end(error);
    this.#line = undefined;
    this.#state = "detached";
    this.outbox.fail(error);
  }

  /** Ends the previous worker, which has released the store or died. */
  async #endReleasing(): Promise<void> {
    await this.#lastReplies();
    this.#releasing?.line.end(new EngineError("the store's worker ended unexpectedly"));
    this.#releasing = undefined;
  }

  /** Waits for the last replies of the previous worker; one that died sends none. */
  async #lastReplies(): Promise<void> {
    if (this.#releasing === undefined) return;
    const { released } = this.#releasing;
    await Promise.race([released, new Promise((passed) => setTimeout(passed, LAST_REPLIES))]);
  }

  /** Gives a new worker the keyspaces and listeners of the previous one. */
  #restore(line: Line): void {
    const operations = [...this.#ids].map(([keyspace, id]): Operation => ({
      op: "call",
      method: "restore_keyspace",
      args: [keyspace, id],
    }));
    if (this.listeners.any) operations.push({ op: "listen", on: true });
    const noop = () => undefined;
    line.send(operations.map((operation): Call => ({ operation, resolve: noop, reject: noop })));
  }

  #listen(on: boolean): void {
    ignoreResult(this.outbox.add({ op: "listen", on }));
    if (!on) return;
    const names = this.outbox.add({ op: "call", method: "keyspaces", args: [] });
    ignoreResult(names.then((names) => this.listeners.setNames(names as string)));
  }

  #page = {
    suspend: (): void => {
      const [line, state] = [this.#line, this.#state];
      if (state === "open" && line !== undefined) {
        this.#flush();
        const done = () => undefined;
        this.#releasing = { line, released: line.call({ op: "suspend" }).then(done, done) };
        line.unwatch();
      }
      this.#line = undefined;
      this.#attempt = undefined;
      this.#state = "suspended";
      // A worker that is still opening the store has nothing to lose.
      if (state === "opening") line?.end(new EngineError("the page was suspended"));
    },
    resume: (): void => {
      if (this.#state === "suspended") void this.#connect();
    },
    hidden: (): void => {
      if (this.#state !== "open") return;
      ignoreResult(this.outbox.add({ op: "call", method: "sync", args: [] }));
      this.#flush();
    },
  };

  #flush(): void {
    if (this.outbox.isEmpty) return;
    if (this.#state === "open") this.#line?.send(this.outbox.take());
    else if (this.#state === "detached") void this.#connect();
  }
}
