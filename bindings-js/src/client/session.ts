/**
 * One opening of a store by its name. Several openings in one page (a component that is mounted twice,
 * a module that is loaded again) share a connection, which the last one closes. Each is closed on its
 * own, and its calls then fail.
 */

import type { Bytes, Decoded, Encoding } from "../api/data.ts";
import type { Role } from "../api/events.ts";
import { ClosedError } from "../api/errors.ts";
import type { Encoder } from "../codec/encoder.ts";
import type { Arguments, Method, OpenRequest, Operation, Returned } from "../codec/protocol.ts";
import { taken } from "../codec/validate.ts";
import { abortable, abortError, ignoreResult } from "../shared/abort.ts";
import type { Listener } from "../shared/events.ts";
import type { OpenedKeyspace } from "../store/port.ts";
import { Connection } from "./connection.ts";

/** This page's connections, by the name of their store. */
const connections: Map<string, Connection> = new Map();

/** Something that the worker holds for a session: a snapshot or a scan. */
export interface Resource {
  /** Makes the worker release it. */
  release(): void;
  /** The worker has released it by itself. */
  forget(): void;
}

/** Opens a store, or shares this page's connection to it. */
export async function openSession(
  start: () => Worker,
  request: OpenRequest,
  isShared: boolean,
  signal: AbortSignal | undefined,
): Promise<Session> {
  for (;;) {
    if (signal?.aborted) throw abortError(signal);
    const shared = find(request);
    const connection = shared ?? connect(start, request, isShared);
    connection.users += 1;
    try {
      await abortable(signal, () => connection.ready);
    } catch (error) {
      connection.users -= 1;
      if (signal?.aborted && connection.users === 0) connection.end(abortError(signal));
      if (signal?.aborted || shared === undefined) throw error;
      // It was opened with other options: these may succeed.
      continue;
    }
    const session = new Session(connection);
    const isOpenElsewhere = shared !== undefined || connection.role === "follower";
    if (isOpenElsewhere) await session.share(request);
    return session;
  }
}

/** Finds a connection that is not about to be closed. */
function find({ storage, name }: OpenRequest): Connection | undefined {
  const found = storage === "opfs" ? connections.get(name) : undefined;
  return found?.users === 0 ? undefined : found;
}

function connect(start: () => Worker, request: OpenRequest, isShared: boolean): Connection {
  const { name, storage } = request;
  if (storage === "memory") return new Connection(start, request, false, () => undefined);
  const connection: Connection = new Connection(start, request, isShared, () => {
    if (connections.get(name) === connection) connections.delete(name);
  });
  connections.set(name, connection);
  return connection;
}

export class Session {
  readonly #connection: Connection;
  readonly #resources: Set<Resource> = new Set();
  readonly #listening: Map<Listener, () => void> = new Map();
  #closed: ClosedError | undefined;
  #closing: Promise<void> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Applies the options of this opening to a store that is already open. */
  async share({ name, errorIfExists, policy }: OpenRequest): Promise<void> {
    try {
      if (errorIfExists) throw taken(name);
      if (policy !== undefined) await this.invoke("set_policy", 0, policy);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Whether both sessions are of the same store. */
  isSameStore(other: Session): boolean {
    return other.#connection === this.#connection;
  }

  /** Whose worker has the store. */
  get role(): Role {
    return this.#connection.role;
  }

  /** Assigns a number to a snapshot. */
  number(): number {
    return this.#connection.number();
  }

  /** Sends an operation; resolves to the value of its reply. */
  call(operation: Operation): Promise<unknown> {
    return this.#unlessClosed(({ outbox }) => outbox.add(operation));
  }

  /** Calls a method of the engine's store. */
  invoke<M extends Method>(method: M, ...args: Arguments<M>): Returned<M> {
    return this.call({ op: "call", method, args }) as Returned<M>;
  }

  /** Adds writes to the current batch; resolves to its sequence number. */
  write(sync: boolean, fill: (batch: Encoder) => void): Promise<number> {
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
    ignoreResult(opened);
    return { keyspace: 0, opened };
  }

  /** Drops a keyspace. */
  dropKeyspace(name: string): Promise<boolean> {
    return this.#unlessClosed((connection) => {
      connection.forgetKeyspace(name);
      return this.invoke("drop_keyspace", name);
    });
  }

  /** Registers what the worker holds for this session until `release` is sent. */
  hold(release: Operation): Resource {
    const resource: Resource = {
      release: () => {
        if (this.#resources.delete(resource)) ignoreResult(this.#connection.outbox.add(release));
      },
      forget: () => this.#resources.delete(resource),
    };
    if (this.#closed === undefined) this.#resources.add(resource);
    return resource;
  }

  /** Reports a snapshot that was never released by its owner. */
  reportForgotten(): void {
    if (this.#closed !== undefined) return;
    this.#connection.listeners.reportForgotten(this.#connection.name);
  }

  /** Adds a listener; the returned function removes it. */
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

  /** Syncs; the last session also closes the store and ends the worker. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const connection = this.#connection;
    const closed = new ClosedError("the store is closed");
    const isLast = --connection.users === 0;
    // A session that is not the last still makes its own writes durable.
    const closing = isLast ? connection.close(closed) : this.invoke("sync");
    if (!isLast) for (const resource of this.#resources) resource.release();
    this.#resources.clear();
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
