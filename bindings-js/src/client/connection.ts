/**
 * A client's connection to the worker that has the store: its own, or that of the page that leads (election.ts). It
 * outlives the worker.
 *
 * 1. When the page is suspended, its worker is asked to sync, to abort long calls and to release the
 *    store; a worker that is still opening it is ended. Later calls wait. When the page resumes, the connection
 *    looks for a worker, or starts a new one, and the calls are sent once that has opened the store.
 * 2. If the store cannot be opened again, the waiting calls fail with the reason, and the next call tries again. When
 *    the engine fails, this page's worker is replaced at once, since no other page could replace it. If no call came
 *    before it fails again, the next call replaces it.
 * 3. A store whose files are gone ends the connection. So does another store of its name: it is not the one whose
 *    keyspaces and writes these are.
 * 4. A new worker is given the keyspaces, by the engine's ids, and the listeners. Snapshots and
 *    iterations end with the previous worker; the new one gets the reason.
 * 5. When the worker of another page leaves, the calls without a reply are sent to the next. When this page's own
 *    worker leaves to let another page lead, it serves what was sent before, and later calls wait.
 */

import {
  BusyError,
  ClosedError,
  EngineError,
  NotFoundError,
  type TerraneError,
  UnavailableError,
} from "../api/errors.ts";
import type { Role } from "../api/events.ts";
import type { Leaves, Opened, OpenRequest, Operation } from "../codec/protocol.ts";
import type { Leader } from "../codec/sharing.ts";
import { ignoreResult } from "../shared/abort.ts";
import { delay } from "../shared/delay.ts";
import { Listeners } from "../shared/events.ts";
import { heldLocks } from "../shared/hold-lock.ts";
import type { OpenedKeyspace } from "../store/port.ts";
import { Election, isVisible } from "./election.ts";
import { LeaderWorker } from "./leader-worker.ts";
import { Line, type LineOwner } from "./line.ts";
import { Numbers } from "./numbers.ts";
import { type Call, Outbox } from "./outbox.ts";
import { LAST_REPLIES, OwnWorker, seen } from "./own-worker.ts";
import { watchPage } from "./page-lifecycle.ts";

/** The wait after a worker that announced itself turned out to be gone, in milliseconds. */
const GONE_DELAY = 100;
/** The times that a worker seems gone and still announces itself, after which it counts as out of reach. */
const GONE_MAX = 10;
const CLEARED = "the origin's storage was cleared while this page was open: reload it";

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
  /** Whether other clients may use the store at the same time. */
  readonly isShared: boolean;
  readonly #start: () => Worker;
  readonly #onEnd: () => void;
  readonly #unwatchPage: () => void;
  /** The keyspaces that were opened, by name. */
  readonly #keyspaces: Map<string, OpenedKeyspace> = new Map();
  /** The engine's ids of keyspaces, by their numbers. */
  readonly #ids: Map<number, number> = new Map();
  /** Undefined if the store is shared with nobody. */
  readonly #election: Election | undefined;
  readonly #numbers: Numbers = new Numbers(() => this.#flush());
  #request: OpenRequest;
  /** The random number of the store. */
  #store: number | undefined;
  #role: Role = "none";
  /** "leaving": the worker may leave; "detached": without a worker until the next call. */
  #state: "opening" | "open" | "leaving" | "suspended" | "detached" | "closed" = "opening";
  #line: Line | undefined;
  /** This page's worker, if the line is to it. */
  #own: OwnWorker | undefined;
  #releasing: Releasing | undefined;
  /** Follows the worker's request to leave, which arrived before the store was open. */
  #left: (() => void) | undefined;
  /** Identifies the opening in progress; a later one, or suspending the page, supersedes it. */
  #attempt: object | undefined;
  #wasOpen = false;
  /** Whether calls were sent since the store was last opened after a failure. */
  #wasUsed = false;
  /** The reason why the snapshots of the last worker ended. */
  #why = "";
  #settleReady: { resolve: () => void; reject: (error: TerraneError) => void } | undefined;
  #nextNumber = 1;

  /**
   * Connects to a store; `start` starts a worker, and `onEnd` is called once no more calls are accepted. A store that
   * is `shared` has other clients at the same time.
   */
  constructor(start: () => Worker, request: OpenRequest, shared: boolean, onEnd: () => void) {
    this.#start = start;
    this.#request = request;
    this.isShared = shared;
    this.#onEnd = onEnd;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // A store in memory keeps nobody else out, and would be lost.
    const onFiles = request.storage === "opfs";
    this.#unwatchPage = onFiles ? watchPage(this.#page) : () => undefined;
    const onLeader = () => this.#state === "detached" && void this.#connect(true);
    this.#election = shared ? new Election(request, onLeader) : undefined;
    void this.#connect(true);
  }

  /** Whether the store is open for reading only. */
  get readOnly(): boolean {
    return this.#request.readOnly ?? false;
  }

  /** The store's name. */
  get name(): string {
    return this.#request.name;
  }

  /** Whose worker has the store. */
  get role(): Role {
    return this.#role;
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
    this.#role = "none";
    this.#attempt = undefined;
    this.#unwatchPage();
    this.#onEnd();
    this.outbox.close(error);
    this.#line?.end(error);
    this.#releasing?.line.end(error);
    this.#election?.leave(error);
    this.#settleReady?.reject(error);
    this.listeners.end(error);
  }

  /** Finds a worker; `first` says whether this client may lead before others. */
  async #connect(first: boolean): Promise<void> {
    this.#state = "opening";
    const attempt = {};
    this.#attempt = attempt;
    // Usually it released the store long ago.
    await this.#lastReplies();
    const gone: string[] = [];
    try {
      while (this.#attempt === attempt) {
        let leader = await this.#election?.seek(first);
        if (this.#attempt !== attempt) return;
        leader ??= await this.#lead();
        if (leader === undefined) break;
        if (this.#attempt !== attempt) return;
        this.#identify(leader.store);
        const isSeen = (await heldLocks()).includes(leader.lock);
        if (this.#attempt !== attempt) return;
        if (isSeen && (await this.#follow(leader))) break;
        gone.push(leader.id);
        const isThere = gone.filter((id) => id === leader.id).length > GONE_MAX;
        // Pages do not share locks with workers that start after the origin's storage was cleared.
        if (isThere) throw new UnavailableError(CLEARED);
        await delay(GONE_DELAY);
      }
      await this.#endReleasing();
      if (this.#attempt !== attempt) return;
      if (this.#line?.ended !== undefined) throw this.#line.ended;
    } catch (error) {
      await this.#endReleasing();
      if (this.#attempt === attempt) this.#failed(error as TerraneError);
      return;
    }
    this.#opened();
  }

  /** Starts a worker of this client, which opens the store. Returns the worker of another page that has it instead. */
  async #lead(): Promise<Leader | undefined> {
    const line: Line = new Line(
      (receiver) => (this.#own = new OwnWorker(this.#start, receiver)),
      this.#owner(
        () => line,
        () => void this.#handOver(line),
      ),
    );
    this.#line = line;
    const own = this.#own;
    const election = this.#election;
    const leader = election && crypto.randomUUID();
    const sharing = election && { client: election.id, visible: isVisible() };
    try {
      const { lock, store } = (await seen(this.#request.client, () =>
        line.call({ op: "open", ...this.#request, leader, sharing }),
      )) as Opened;
      this.#identify(store);
      if (lock !== undefined) void own?.watch(lock);
      return undefined;
    } catch (error) {
      line.end(error as TerraneError);
      // A page whose locks are apart leads without this page's lead lock.
      if (!(error instanceof BusyError) || election?.heard === undefined) throw error;
      election.resign();
      return election.heard;
    }
  }

  /** Fails unless this is the store that was opened at first. Until then a dead leader may have named another. */
  #identify(store: number): void {
    if (!this.#wasOpen) this.#store = store;
    if (this.#store === store) return;
    throw new NotFoundError(`store "${this.name}" was removed, and another one has its name`);
  }

  /** Joins the worker of another client; returns whether that serves this one. */
  async #follow(leader: Leader): Promise<boolean> {
    const election = this.#election as Election;
    const { timeout } = this.#request;
    let worker: LeaderWorker | undefined;
    const line: Line = new Line(
      (receiver) => (worker = new LeaderWorker(leader, election.id, timeout, receiver)),
      this.#owner(
        () => line,
        (leaves) => this.#moveOn(line, leaves),
      ),
    );
    this.#line = line;
    this.#own = undefined;
    election.join(leader);
    try {
      if (await worker?.joined) return true;
      line.end();
      return false;
    } catch (error) {
      line.end(error as TerraneError);
      throw error;
    }
  }

  /** Handles what comes over a line, as long as it is this connection's. */
  #owner(line: () => Line, onLeaves: (leaves: Leaves) => void): LineOwner {
    const isCurrent = () => this.#line === line() && this.#state === "open";
    return {
      onEvents: (events) => this.listeners.dispatch(events),
      // While it is opening the store, its reply carries the error.
      onEnd: (error) => isCurrent() && this.#lost(error),
      onLeaves: (leaves) => {
        if (isCurrent()) onLeaves(leaves);
        else if (this.#line === line()) this.#left = () => isCurrent() && onLeaves(leaves);
      },
    };
  }

  #opened(): void {
    this.#state = "open";
    const line = this.#line as Line;
    if (this.#wasOpen) this.#restore(line);
    this.#wasOpen = true;
    // From now on the store must exist, and keeps what it has become.
    this.#request = { ...this.#request, create: false, errorIfExists: false, keepPolicy: true };
    this.#setRole(this.#own === undefined ? "follower" : "leader");
    this.#settleReady?.resolve();
    this.#flush();
    this.#left?.();
    this.#left = undefined;
  }

  #failed(error: TerraneError): void {
    if (!this.#wasOpen || error instanceof NotFoundError) return this.end(error);
    this.#detach();
    this.outbox.fail(error);
  }

  /** The worker died, or its engine crashed. */
  #lost(error: TerraneError): void {
    if (this.#election === undefined || error instanceof NotFoundError) return this.end(error);
    this.#why = "the store failed";
    this.#detach();
    if (this.#own === undefined || !this.#wasUsed) return;
    this.#wasUsed = false;
    void this.#connect(true);
  }

  /** Leaves the store to others until the next call. */
  #detach(): void {
    this.#line = undefined;
    this.#state = "detached";
    this.#election?.resign();
    this.#setRole("none");
  }

  /** Lets another client lead, if that costs nobody a snapshot or a long call. */
  async #handOver(line: Line): Promise<void> {
    this.#flush();
    // Until the worker has decided, calls wait: it serves none after that.
    this.#state = "leaving";
    const leaves = await line.call({ op: "handOver" }).catch(() => true);
    if (this.#state !== "leaving" || this.#line !== line) return;
    if (leaves === false) {
      this.#state = "open";
      return this.#flush();
    }
    line.end();
    this.#why = "another page took over";
    this.#election?.resign();
    this.#setRole("none");
    void this.#connect(false);
  }

  /** Sends the calls without a reply to the next worker. */
  #moveOn(line: Line, { successor }: Leaves): void {
    this.#why = "another page took over";
    this.#putBack(line);
    this.#setRole("none");
    void this.#connect(successor === undefined ? isVisible() : successor === this.#election?.id);
  }

  /** Ends a line; calls without a reply are sent again, but for copies, whose files are gone. */
  #putBack(line: Line): void {
    const calls = line.take();
    this.#line = undefined;
    const isCopy = ({ operation: { op } }: Call) => op === "export" || op === "checkpoint";
    const ended = new ClosedError("the copy ended, since another page took over; start it again");
    for (const { reject } of calls.filter(isCopy)) reject(ended);
    this.outbox.restore(calls.filter((call) => !isCopy(call)));
    this.#numbers.restart();
  }

  #setRole(role: Role): void {
    if (this.#role === role) return;
    this.#role = role;
    this.listeners.report({ type: "role-changed", role });
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
    await Promise.race([released, delay(LAST_REPLIES)]);
  }

  /** Gives a new worker the keyspaces and listeners of the previous one. */
  #restore(line: Line): void {
    const operations = [...this.#ids].map(([keyspace, id]): Operation => ({
      op: "call",
      method: "restore_keyspace",
      args: [keyspace, id],
    }));
    operations.push({ op: "ended", why: this.#why });
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
      const [line, state, own] = [this.#line, this.#state, this.#own];
      const isOpen = state === "open" || state === "leaving";
      if (isOpen && line !== undefined) {
        this.#flush();
        if (own !== undefined) {
          const done = () => undefined;
          this.#releasing = { line, released: line.call({ op: "suspend" }).then(done, done) };
          own.unwatch();
        } else if (this.#numbers.any) {
          // A page that waits for its writes keeps its lock, and is not suspended for long.
          return;
        } else {
          this.#putBack(line);
        }
      }
      this.#why = "the page was suspended";
      this.#line = undefined;
      this.#attempt = undefined;
      this.#state = "suspended";
      const suspended = new EngineError("the page was suspended");
      // A worker that is still opening the store has nothing to lose.
      if (state === "opening") line?.end(suspended);
      this.#election?.leave(suspended, this.#numbers.any);
      this.#setRole("none");
    },
    resume: (): void => {
      if (this.#state === "suspended") void this.#connect(true);
    },
    hidden: (): void => {
      if (this.#state !== "open") return;
      ignoreResult(this.outbox.add({ op: "call", method: "sync", args: [] }));
      this.#show(false);
    },
    visible: (): void => this.#show(true),
  };

  /** Reports whether the page is visible. */
  #show(visible: boolean): void {
    if (this.#state !== "open") return;
    if (this.#election !== undefined) ignoreResult(this.outbox.add({ op: "show", visible }));
    this.#flush();
  }

  #flush(): void {
    if (this.outbox.isEmpty) return;
    if (this.#state === "detached") return void this.#connect(true);
    if (this.#state !== "open") return;
    const calls = this.outbox.take();
    if (this.#own === undefined) this.outbox.restore(calls.splice(this.#numbers.admit(calls)));
    this.#wasUsed = true;
    this.#line?.send(calls);
  }
}
