/** The calls of a store in a page: messages of a session. */

import type { Bytes, Decoded, Encoding } from "../api/data.ts";
import type { Role } from "../api/events.ts";
import type { WaitOptions } from "../api/options.ts";
import { Encoder } from "../codec/encoder.ts";
import { WAIT } from "../codec/options.ts";
import type { Projection } from "../codec/projection.ts";
import type { Arguments, Exported, Method, Returned, ScanRequest } from "../codec/protocol.ts";
import { toStoreRequest } from "#store-request";
import { abortable, ignoreResult } from "../shared/abort.ts";
import type { Listener } from "../shared/events.ts";
import type {
  ExportedFile,
  HeldCursor,
  HeldSnapshot,
  HeldWatch,
  OpenedKeyspace,
  Port,
  Steps,
} from "../store/port.ts";
import { count, iterate, openCursor } from "./scan.ts";
import type { Session } from "./session.ts";
import { openWatch } from "./watch.ts";

export class SessionPort implements Port<"async"> {
  readonly waits: object = WAIT;
  readonly isSync = false;
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Whose worker has the store. */
  get role(): Role {
    return this.#session.role;
  }

  async run<O extends WaitOptions, T>(
    opened: Promise<unknown> | undefined,
    options: () => O,
    start: (options: O) => Promise<T>,
  ): Promise<T> {
    const given = options();
    try {
      return await abortable(given.signal, () => start(given));
    } catch (error) {
      // If the keyspace could not be opened, that is the error, and not that it is closed.
      await opened;
      throw error;
    }
  }

  async map<T, U>(result: Promise<T>, next: (value: T) => U): Promise<U> {
    return next(await result);
  }

  async runSteps<T>(steps: Steps<T>): Promise<T> {
    let step = steps.next();
    while (!step.done) {
      let value: unknown;
      try {
        value = await step.value;
      } catch (error) {
        step = steps.throw(error);
        continue;
      }
      step = steps.next(value);
    }
    return step.value;
  }

  async *generate<T>(
    next: () => Steps<T | undefined>,
    end: () => unknown,
  ): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        const item = await this.runSteps(next());
        if (item === undefined) return;
        yield item;
      }
    } finally {
      end();
    }
  }

  pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, milliseconds));
  }

  invoke<N extends Method>(method: N, ...args: Arguments<N>): Returned<N> {
    return this.#session.invoke(method, ...args);
  }

  async get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Promise<Decoded<E> | undefined> {
    const [value] = await this.#session.lookup(keyspace, snapshot, [key], encoding);
    return value;
  }

  getMany<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    return this.#session.lookup(keyspace, snapshot, keys, encoding);
  }

  write(sync: boolean, fill: (batch: Encoder) => void, mayCall: boolean): Promise<number> {
    if (!mayCall) return this.#session.write(sync, fill);
    // Calls of `fill` are sent before what it encodes.
    const own = new Encoder();
    fill(own);
    return this.#session.write(sync, (batch) => batch.add(own.bytes()));
  }

  iterate<T>(
    request: ScanRequest,
    projection: Projection<T>,
    run: <R>(start: () => Promise<R>) => Promise<R>,
  ): AsyncGenerator<T, void, undefined> {
    return iterate(this.#session, request, projection, run);
  }

  cursor(request: ScanRequest): HeldCursor<"async"> {
    return openCursor(this.#session, request);
  }

  watch(ranges: Uint8Array, keys: boolean): HeldWatch {
    return openWatch(this.#session, ranges, keys);
  }

  async collect<T>(iteration: AsyncGenerator<T, void, undefined>): Promise<T[]> {
    const items: T[] = [];
    for await (const item of iteration) items.push(item);
    return items;
  }

  count(request: ScanRequest, { signal }: WaitOptions): Promise<number> {
    return count(this.#session, request, signal);
  }

  keyspace(name: string, create: boolean, policy: string | undefined): OpenedKeyspace {
    return this.#session.keyspace(name, create, policy);
  }

  dropKeyspace(name: string): Promise<boolean> {
    return this.#session.dropKeyspace(name);
  }

  snapshot(): HeldSnapshot {
    const session = this.#session;
    const snapshot = session.number();
    // If the store is closed, the first read fails and says so.
    ignoreResult(session.invoke("snapshot", snapshot));
    const { release } = session.hold({ op: "call", method: "release", args: [snapshot] });
    const forgotten = () => {
      release();
      session.reportForgotten();
    };
    return { snapshot, release, forgotten };
  }

  isSameStore(other: Port<"async">): boolean {
    return other instanceof SessionPort && other.#session.isSameStore(this.#session);
  }

  listen(listener: Listener): () => void {
    return this.#session.listen(listener);
  }

  async checkpoint(name: string, timeout: number | undefined): Promise<void> {
    await this.#session.call({ op: "checkpoint", ...toStoreRequest(name, timeout) });
  }

  async exportFile(): Promise<ExportedFile> {
    const session = this.#session;
    const { blob, file } = (await session.call({ op: "export" })) as Exported;
    const end = () => {
      if (file !== undefined) ignoreResult(session.call({ op: "endExport", file }));
    };
    return { blob, end };
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
