/**
 * One opening of a store by its name: the calls of a store in a page, as messages over a connection that other openings
 * may share. Each is closed on its own, and its calls then fail.
 */

import type { Bytes, Decoded, Encoding } from "../api/data.ts";
import { ClosedError } from "../api/errors.ts";
import type { Role } from "../api/events.ts";
import type { WaitOptions } from "../api/options.ts";
import { Encoder } from "../codec/encoder.ts";
import { WAIT } from "../codec/options.ts";
import type { Projection } from "../codec/projection.ts";
import type {
  Arguments,
  Exported,
  Method,
  OpenRequest,
  Operation,
  Returned,
  ScanRequest,
} from "../codec/protocol.ts";
import { later } from "#load";
import { toStoreRequest } from "#store-request";
import { abortable, ignoreResult } from "../shared/abort.ts";
import type { Listener } from "../shared/events.ts";
import type {
  ExportedFile,
  HeldCursor,
  HeldSnapshot,
  HeldWatch,
  Later,
  OpenedKeyspace,
  Port,
} from "../store/port.ts";
import type { Connection } from "./connection.ts";
import type { Caller, Resource } from "./caller.ts";
import { count, iterate, openCursor } from "./scan.ts";
import { openWatch } from "./watch.ts";

export class Session implements Caller, Port<"async"> {
  readonly waits: object = WAIT;
  readonly isSync = false;
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
      if (errorIfExists) throw (await later()).taken(name);
      if (policy !== undefined) await this.invoke("set_policy", 0, policy);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Whose worker has the store. */
  get role(): Role {
    return this.#closed === undefined ? this.#connection.role : "none";
  }

  /** Awaits nothing unless something fails, since each await costs a get a part of a microsecond. */
  run<O extends WaitOptions, T>(
    opened: Promise<unknown> | undefined,
    options: () => O,
    start: (options: O) => Promise<T>,
  ): Promise<T> {
    // If the keyspace could not be opened, that is the error, and not that it is closed.
    const failed = async (error: unknown): Promise<never> => {
      await opened;
      throw error;
    };
    try {
      const given = options();
      const { signal } = given;
      const result = signal === undefined ? start(given) : abortable(signal, () => start(given));
      return opened === undefined ? result : result.catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  async map<T, U>(result: Promise<T>, next: (value: T) => U | Promise<U>): Promise<U> {
    return next(await result);
  }

  later(): Promise<Later> {
    return later();
  }

  /** Sends an operation; resolves to the value of its reply. */
  call(operation: Operation): Promise<unknown> {
    return this.#unlessClosed(({ outbox }) => outbox.add(operation));
  }

  /** Calls a method of the engine's store. */
  invoke<M extends Method>(method: M, ...args: Arguments<M>): Returned<M> {
    return this.call({ op: "call", method, args }) as Returned<M>;
  }

  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Promise<Decoded<E> | undefined> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    return this.#connection.outbox.get(keyspace, snapshot, key, encoding);
  }

  getMany<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    return this.#unlessClosed(({ outbox }) => outbox.lookup(keyspace, snapshot, keys, encoding));
  }

  write(sync: boolean, fill: (batch: Encoder) => void, mayCall: boolean): Promise<number> {
    let encode = fill;
    if (mayCall) {
      // Calls of `fill` are sent before what it encodes.
      const own = new Encoder();
      fill(own);
      encode = (batch) => batch.add(own.bytes());
    }
    return this.#unlessClosed(({ outbox }) => outbox.write(sync, encode));
  }

  iterate<T>(
    request: ScanRequest,
    projection: Projection<T>,
    run: <R>(start: () => Promise<R>) => Promise<R>,
  ): AsyncGenerator<T, void, undefined> {
    return iterate(this, request, projection, run);
  }

  cursor(request: ScanRequest): HeldCursor<"async"> {
    return openCursor(this, request);
  }

  watch(ranges: Uint8Array, keys: boolean, always = false): HeldWatch {
    return openWatch(this, ranges, keys, always);
  }

  async collect<T>(iteration: AsyncGenerator<T, void, undefined>): Promise<T[]> {
    const items: T[] = [];
    for await (const item of iteration) items.push(item);
    return items;
  }

  count(request: ScanRequest, { signal }: WaitOptions): Promise<number> {
    return count(this, request, signal);
  }

  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace {
    if (this.#closed === undefined) return this.#connection.keyspace(name, create, policy);
    const opened = Promise.reject(this.#closed);
    ignoreResult(opened);
    return { keyspace: 0, opened };
  }

  dropKeyspace(name: string): Promise<boolean> {
    return this.#unlessClosed((connection) => {
      connection.forgetKeyspace(name);
      return this.invoke("drop_keyspace", name);
    });
  }

  snapshot(): HeldSnapshot {
    const connection = this.#connection;
    const closed = this.#closed ?? connection.outbox.closed;
    if (closed !== undefined) throw closed;
    const snapshot = connection.number();
    // If it fails, the first read does so as well.
    ignoreResult(this.invoke("snapshot", snapshot));
    const { release } = this.hold({ op: "call", method: "release", args: [snapshot] });
    const forgotten = () => {
      release();
      if (this.#closed === undefined) connection.listeners.reportForgotten(connection.name);
    };
    return { snapshot, release, forgotten };
  }

  isSameStore(other: Port<"async">): boolean {
    return other instanceof Session && other.#connection === this.#connection;
  }

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

  async checkpoint(name: string, timeout: number | undefined): Promise<void> {
    await this.call({ op: "checkpoint", ...toStoreRequest(name, timeout) });
  }

  async exportFile(): Promise<ExportedFile> {
    const { blob, file } = (await this.call({ op: "export" })) as Exported;
    const end = () => {
      if (file !== undefined) ignoreResult(this.call({ op: "endExport", file }));
    };
    return { blob, end };
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
