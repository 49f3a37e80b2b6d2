/**
 * One opening of a store by its name. Those of one page (a component that is mounted twice, a module
 * that is loaded again) share a connection, which the last one closes: each of them can be closed by
 * itself, and then takes no call any more.
 */

import { abortable, aborted } from "./abort.ts";
import { refused } from "./argument.ts";
import { Connection, ignore, type OpenedKeyspace } from "./connection.ts";
import { ClosedError } from "./errors.ts";
import type { Listener } from "./events.ts";
import type { Bytes, Decoded, Encoding, Packer } from "./packing.ts";
import type { Answer, Arguments, Method, Operation, OpenRequest } from "./protocol.ts";

/** The connections that this page has, by the name of their store. */
const connections: Map<string, Connection> = new Map();

/** What the worker holds for a session. */
export interface Held {
  /** Has the worker let go of it. */
  release(): void;
  /** The worker let go of it by itself. */
  forget(): void;
}

/** Opens a store, or shares the connection of this page to it. */
export async function openSession(
  start: () => Worker,
  request: OpenRequest,
  signal: AbortSignal | undefined,
): Promise<Session> {
  for (;;) {
    if (signal?.aborted) throw aborted(signal);
    const shared = find(request);
    const connection = shared ?? connect(start, request);
    connection.users += 1;
    try {
      await abortable(signal, () => connection.ready);
    } catch (error) {
      connection.users -= 1;
      if (signal?.aborted && connection.users === 0) connection.end(aborted(signal));
      if (signal?.aborted || shared === undefined) throw error;
      // The others' options differ: where they failed, these need not.
      continue;
    }
    const session = new Session(connection);
    if (shared !== undefined) await session.share(request);
    return session;
  }
}

/** One that is not about to be closed. */
function find({ storage, name }: OpenRequest): Connection | undefined {
  const found = storage === "opfs" ? connections.get(name) : undefined;
  return found?.users === 0 ? undefined : found;
}

function connect(start: () => Worker, request: OpenRequest): Connection {
  if (request.storage === "memory") return new Connection(start, request, () => undefined);
  const { name } = request;
  const connection: Connection = new Connection(start, request, () => {
    if (connections.get(name) === connection) connections.delete(name);
  });
  connections.set(name, connection);
  return connection;
}

export class Session {
  readonly #connection: Connection;
  readonly #held: Set<Held> = new Set();
  readonly #listening: Map<Listener, () => void> = new Map();
  #closed: ClosedError | undefined;
  #closing: Promise<void> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Asks of a store that is open already what an opening asks. */
  async share({ name, errorIfExists, policy }: OpenRequest): Promise<void> {
    try {
      if (errorIfExists) throw refused("name", "one that no store has", name);
      if (policy !== undefined) await this.ask("set_policy", 0, policy);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Whether what belongs to `other` is of the same store. */
  isSameStore(other: Session): boolean {
    return other.#connection === this.#connection;
  }

  /** Numbers what the caller names before the worker knows it. */
  number(): number {
    return this.#connection.number();
  }

  /** Sends an operation; the promise is its reply's value. */
  call(operation: Operation): Promise<unknown> {
    return this.#unlessClosed(({ outbox }) => outbox.add(operation));
  }

  /** Calls the engine's store. */
  ask<M extends Method>(method: M, ...args: Arguments<M>): Answer<M> {
    return this.call({ op: "call", method, args }) as Answer<M>;
  }

  /** Adds writes to the batch that is being gathered, and promises its sequence. */
  write(sync: boolean, fill: (packer: Packer) => void): Promise<number> {
    return this.#unlessClosed(({ outbox }) => outbox.write(sync, fill));
  }

  /** Looks keys up. */
  lookup<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    return this.#unlessClosed(({ outbox }) => outbox.lookup(keyspace, snapshot, keys, encoding));
  }

  /** Opens a keyspace. */
  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace {
    if (this.#closed === undefined) return this.#connection.keyspace(name, create, policy);
    const opened = Promise.reject(this.#closed);
    ignore(opened);
    return { keyspace: 0, opened };
  }

  /** Removes a keyspace. */
  dropKeyspace(name: string): Promise<boolean> {
    return this.#unlessClosed((connection) => {
      connection.forgetKeyspace(name);
      return this.ask("drop_keyspace", name);
    });
  }

  /** Notes what the worker holds for this session until `release` is sent. */
  hold(release: Operation): Held {
    const held: Held = {
      release: () => {
        if (this.#held.delete(held)) ignore(this.#connection.outbox.add(release));
      },
      forget: () => this.#held.delete(held),
    };
    if (this.#closed === undefined) this.#held.add(held);
    return held;
  }

  /** Says that a snapshot was released because its owner forgot to. */
  reportForgotten(): void {
    if (this.#closed !== undefined) return;
    this.#connection.listeners.forgot(this.#connection.name);
  }

  /** Adds a listener until the returned function is called. */
  listen(listener: Listener): () => void {
    if (this.#closed !== undefined) {
      listener.end(this.#closed);
      return () => undefined;
    }
    const remove = this.#connection.listeners.add(listener);
    const stop = () => {
      this.#listening.delete(listener);
      remove();
    };
    this.#listening.set(listener, stop);
    return stop;
  }

  /** Syncs; the last one closes the store and ends the worker. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const connection = this.#connection;
    const closed = new ClosedError("the store is closed");
    const isLast = --connection.users === 0;
    // Written by this one before.
    const closing = isLast ? connection.close(closed) : this.ask("sync");
    if (!isLast) for (const held of this.#held) held.release();
    this.#held.clear();
    this.#closed = closed;
    try {
      await closing;
    } finally {
      for (const [listener, stop] of this.#listening) {
        stop();
        listener.end(closed);
      }
    }
  }

  #unlessClosed<T>(body: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#closed === undefined ? body(this.#connection) : Promise.reject<T>(this.#closed);
  }
}
