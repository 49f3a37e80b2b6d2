/**
 * The client's end of the line to a store's worker.
 *
 * 1. Calls made in one turn of the event loop travel in one message. Neighbouring writes become one
 *    batch and neighbouring reads one lookup; the order of calls is kept.
 * 2. When the page hides for good or into the back/forward cache, the worker is told to sync and to
 *    let go of the store. Calls made from then on wait; a page that is shown again opens the store
 *    anew and sends them.
 * 3. The worker holds a lock as long as it lives. The client waits for that lock in vain; if it is
 *    granted, the worker is gone, and every call that waits fails.
 */

import { aborted } from "./abort.ts";
import { checkLength } from "./argument.ts";
import { ClosedError, EngineError, type TerraneError } from "./errors.ts";
import { Listeners } from "./events.ts";
import { type Bytes, type Decoded, type Encoding, MAX_BATCH_BYTES, Packer } from "./packing.ts";
import type {
  Answer,
  Arguments,
  Method,
  Opening,
  OpenRequest,
  Operation,
  Reply,
  Request,
} from "./protocol.ts";
import { Strings } from "./strings.ts";
import { fromWire } from "./wire.ts";

/** A group takes no more calls beyond this many bytes. */
const GROUP_BYTES = 1 << 20;
/** Stands in a request until its group ends. */
const EMPTY = new Uint8Array();

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: TerraneError) => void;
}

/** The last request of the outbox, while it can take in more calls of its kind. */
interface Group {
  /** What calls must have in common to be in it. */
  kind: string;
  packer: Packer;
  /** Keys gathered; 0 for writes. */
  size: number;
  answer: Promise<unknown>;
}

/** A line to one store. */
export class Connection {
  /** Who listens to the engine's events. */
  readonly listeners: Listeners = new Listeners((on) => this.#listen(on));
  readonly #start: () => Worker;
  readonly #opening: Opening;
  #worker: Worker | undefined;
  #state: "opening" | "open" | "hidden" | "closed" = "opening";
  #failure: TerraneError | undefined;
  #released: Promise<unknown> = Promise.resolve();
  #lifeline: AbortController = new AbortController();
  #nextId = 1;
  #waiting: Map<number, Waiting> = new Map();
  #outbox: Request[] = [];
  #group: Group | undefined;
  #scheduled = false;
  /** The keyspaces that were opened: a worker started later opens them first. */
  readonly #keyspaces: Map<number, string> = new Map();

  private constructor(start: () => Worker, opening: Opening) {
    this.#start = start;
    this.#opening = opening;
  }

  /** Starts a worker and has it open a store. */
  static async open(
    start: () => Worker,
    request: OpenRequest,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    const connection = await Connection.begin(start, { op: "open", ...request }, signal);
    addEventListener("pagehide", connection.#hide);
    addEventListener("pageshow", connection.#show);
    document.addEventListener("visibilitychange", connection.#settle);
    return connection;
  }

  /** Starts a worker and asks it for what comes first. */
  static async begin(
    start: () => Worker,
    opening: Opening,
    signal: AbortSignal | undefined,
  ): Promise<Connection> {
    if (signal?.aborted) throw aborted(signal);
    const connection = new Connection(start, opening);
    const abort = () => signal && connection.end(aborted(signal));
    signal?.addEventListener("abort", abort);
    try {
      await connection.#connect();
    } finally {
      signal?.removeEventListener("abort", abort);
    }
    return connection;
  }

  /** Sends an operation; the promise is its reply's value. */
  call(operation: Operation): Promise<unknown> {
    this.#endGroup();
    return this.#enqueue(operation);
  }

  /** Calls the engine's store. */
  ask<M extends Method>(method: M, ...args: Arguments<M>): Answer<M> {
    return this.call({ op: "call", method, args }) as Answer<M>;
  }

  /** Leaves alone how a call ends: a later one is told what there is to tell. */
  tell(called: Promise<unknown>): void {
    called.catch(() => undefined);
  }

  /** Adds writes to the batch that is being gathered; `fill` packs them all, or throws. */
  async write(sync: boolean, fill: (packer: Packer) => void): Promise<void> {
    const group = this.#join(`write ${sync}`, fill, () =>
      this.#enqueue({ op: "write", batch: EMPTY, sync }),
    );
    await group.answer;
  }

  /** Adds lookups of `keys`; the promise is their values, in order. */
  async lookup<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    const fill = (packer: Packer) => {
      for (const key of keys) packer.key(key);
    };
    const group = this.#join(`get ${keyspace} ${snapshot}`, fill, () =>
      this.#enqueue({ op: "get", keyspace, snapshot, keys: EMPTY }).then(
        (packed) => new Strings(packed as Uint8Array),
      ),
    );
    const first = group.size;
    group.size += keys.length;
    const values = (await group.answer) as Strings;
    return values.read(encoding, first, first + keys.length);
  }

  /** Opens a keyspace under a number. */
  keyspace(...[number, name, create, policy]: Arguments<"keyspace">): Promise<unknown> {
    this.#keyspaces.set(number, name);
    return this.ask("keyspace", number, name, create, policy);
  }

  /** Releases a snapshot that its owner forgot, and says so. */
  forgot(snapshot: number): void {
    if (this.#state === "closed") return;
    this.tell(this.ask("release", snapshot));
    this.listeners.forgot(this.#opening.name);
  }

  /** Syncs and closes the store and ends the worker. */
  async close(): Promise<void> {
    if (this.#state === "closed") return;
    const closing = this.call({ op: "close" });
    this.#flush();
    try {
      await closing;
    } finally {
      this.end(new ClosedError("the store is closed"));
    }
  }

  async #connect(): Promise<void> {
    const worker = this.#start();
    this.#worker = worker;
    worker.onmessage = (event: MessageEvent<Reply[]>) => this.#receive(event.data);
    worker.onmessageerror = () => this.end(new EngineError("a reply could not be read"));
    worker.onerror = (event) => {
      const cause: unknown = event.error;
      const what = event.message || "its script could not be loaded";
      this.end(new EngineError(`the store's worker failed: ${what}`, { cause }));
    };
    const id = this.#nextId++;
    const opened = this.#expect(id);
    worker.postMessage([{ id, ...this.#opening }]);
    try {
      const lock = (await opened) as string | undefined;
      this.#state = "open";
      if (lock !== undefined) void this.#watch(lock);
    } catch (error) {
      this.end(error as TerraneError);
      throw error;
    }
    this.#flush();
  }

  /** Tells a worker that was started anew what the last one knew. */
  #restore(): void {
    const waiting = this.#outbox;
    this.#outbox = [];
    for (const [number, name] of this.#keyspaces) {
      // One that was dropped meanwhile is not to come back by itself.
      this.tell(this.ask("keyspace", number, name, false));
    }
    if (this.listeners.any) this.#listen(true);
    this.#outbox.push(...waiting);
  }

  #listen(on: boolean): void {
    this.tell(this.call({ op: "listen", on }));
    if (on) this.tell(this.ask("keyspaces").then((names) => this.listeners.learn(names)));
  }

  async #watch(lock: string): Promise<void> {
    this.#lifeline = new AbortController();
    const { signal } = this.#lifeline;
    // Where storage was cleared, a new worker's locks are others than those of an old page.
    const { held = [] } = await navigator.locks.query();
    if (!held.some(({ name }) => name === lock)) return;
    const died = () => {
      if (!signal.aborted) this.end(new EngineError("the store's worker ended unexpectedly"));
    };
    navigator.locks.request(lock, { signal }, died).catch(() => undefined);
  }

  #hide = (): void => {
    if (this.#state !== "open") return;
    this.#released = this.call({ op: "close" }).catch(() => undefined);
    this.#flush();
    this.#lifeline.abort();
    this.#state = "hidden";
  };

  #show = async (): Promise<void> => {
    if (this.#state !== "hidden") return;
    this.#state = "opening";
    await this.#released;
    this.#worker?.terminate();
    this.#endGroup();
    this.#restore();
    // A failure rejects the calls that wait, and every later one.
    await this.#connect().catch(() => undefined);
  };

  #settle = (): void => {
    if (document.visibilityState !== "hidden" || this.#state !== "open") return;
    this.tell(this.ask("sync"));
    this.#flush();
  };

  #join(kind: string, fill: (packer: Packer) => void, begin: () => Promise<unknown>): Group {
    if (this.#failure !== undefined) throw this.#failure;
    const group = this.#group;
    if (group?.kind === kind && group.packer.length < GROUP_BYTES) {
      pack(group.packer, fill);
      return group;
    }
    const packer = new Packer();
    pack(packer, fill);
    this.#endGroup();
    this.#group = { kind, packer, size: 0, answer: begin() };
    return this.#group;
  }

  /** Gives the gathered bytes to their request, which is the outbox's last. */
  #endGroup(): void {
    const last = this.#outbox.at(-1);
    if (this.#group !== undefined && last !== undefined) {
      const bytes = this.#group.packer.bytes();
      if (last.op === "write") last.batch = bytes;
      if (last.op === "get") last.keys = bytes;
    }
    this.#group = undefined;
  }

  #enqueue(operation: Operation): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const id = this.#nextId++;
    this.#outbox.push({ ...operation, id });
    if (!this.#scheduled) {
      this.#scheduled = true;
      queueMicrotask(() => this.#flush());
    }
    return this.#expect(id);
  }

  #expect(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#state !== "open" || this.#outbox.length === 0) return;
    this.#endGroup();
    const requests = this.#outbox;
    this.#outbox = [];
    const buffers: ArrayBuffer[] = [];
    for (const request of requests) {
      if (request.op === "write") buffers.push(request.batch.buffer as ArrayBuffer);
      if (request.op === "get") buffers.push(request.keys.buffer as ArrayBuffer);
    }
    this.#worker?.postMessage(requests, buffers);
  }

  #receive(replies: Reply[]): void {
    for (const reply of replies) {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("error" in reply) {
        const error = fromWire(reply.error);
        waiting?.reject(error);
        // An engine that stopped does nothing more.
        if (reply.id === 0) this.end(error);
      } else if (reply.id === 0) {
        this.listeners.read(reply.value as string);
      } else {
        waiting?.resolve(reply.value);
      }
    }
  }

  /** Ends the worker; every call that waits, and every later one, fails with `error`. */
  end(error: TerraneError): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#failure = error;
    this.#lifeline.abort();
    this.#worker?.terminate();
    this.#outbox = [];
    this.#group = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
    this.listeners.end(error);
    removeEventListener("pagehide", this.#hide);
    removeEventListener("pageshow", this.#show);
    document.removeEventListener("visibilitychange", this.#settle);
  }
}

/** Packs one call's operations whole, or throws and leaves the packer as it was. */
function pack(packer: Packer, fill: (packer: Packer) => void): void {
  const before = packer.length;
  try {
    fill(packer);
    checkLength("batch", packer.length - before, MAX_BATCH_BYTES);
  } catch (error) {
    packer.truncate(before);
    throw error;
  }
}
