/** A store in the worker that holds it: calls of its engine. */

import type { Encoding } from "../api/data.ts";
import { ClosedError } from "../api/errors.ts";
import type { Event } from "../api/events.ts";
import type { CheckpointOptions, KeyspaceOptions, WaitOptions } from "../api/options.ts";
import type { CheckReport, Stats } from "../api/stats.ts";
import type { DbOf } from "../api/store.ts";
import { wrapErrors } from "../codec/error-codec.ts";
import { fromJson, parseNames } from "../codec/json.ts";
import { checked, KEYSPACE, TIMEOUT } from "../codec/options.ts";
import {
  checkKeyspaceName,
  type Defaults,
  toEncodings,
  toKeyspace,
  toStoreRequest,
} from "../codec/requests.ts";
import { checkpoint, endExport, exportFile } from "../engine/backup.ts";
import type { Engine } from "../engine/engine.ts";
import { runToEnd } from "../engine/tasks.ts";
import { ignoreResult } from "../shared/abort.ts";
import { iterateEvents } from "../shared/events.ts";
import { exportStream } from "../shared/streams.ts";
import { Context } from "./context.ts";
import { Keyspace } from "./keyspace.ts";
import { Snapshot } from "./snapshot.ts";

export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<K, V>
  implements DbOf<"sync", K, V>, Disposable
{
  readonly #defaults: Defaults<K, V>;
  /** The numbers of open keyspaces, by name. */
  readonly #numbers: Map<string, number> = new Map();
  #nextKeyspace = 1;
  #nextSnapshot = 1;

  /** @internal */
  constructor(name: string, engine: Engine, defaults: Defaults<K, V>) {
    const context = new Context(name, engine);
    const scope = { context, keyspace: 0, snapshot: 0, owner: undefined };
    super(name, { ...scope, ...defaults }, defaults.durability);
    this.#defaults = defaults;
  }

  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): Keyspace<KE, VE> {
    const request = toKeyspace(name, checked(options, KEYSPACE));
    const encodings = toEncodings<KE, VE>(options, this.#defaults);
    let keyspace = this.#numbers.get(name);
    if (keyspace === undefined || options.policy !== undefined) {
      const number = keyspace ?? this.#nextKeyspace++;
      this.scope.context.engine.call((store) => store.keyspace(number, ...request));
      this.#numbers.set(name, number);
      keyspace = number;
    }
    return new Keyspace(name, { ...this.scope, ...encodings, keyspace }, this.#defaults.durability);
  }

  keyspaces(): string[] {
    const names = this.scope.context.engine.call((store) => store.keyspaces());
    return parseNames(names).map(([, name]) => name);
  }

  dropKeyspace(name: string): boolean {
    checkKeyspaceName(name);
    this.#numbers.delete(name);
    const { engine } = this.scope.context;
    const dropped = engine.call((store) => store.drop_keyspace(name));
    engine.scheduleTurn();
    return dropped;
  }

  dropQuarantine(): number {
    const { engine } = this.scope.context;
    const bytes = engine.call((store) => store.drop_quarantine());
    engine.scheduleTurn();
    return bytes;
  }

  snapshot(): Snapshot<K, V> {
    const snapshot = this.#nextSnapshot++;
    this.scope.context.engine.call((store) => store.snapshot(snapshot));
    return new Snapshot({ ...this.scope, snapshot });
  }

  sync(): void {
    this.scope.context.engine.sync();
  }

  flush(): void {
    runToEnd(this.scope.context.engine, (store) => store.flush());
  }

  stats(): Stats {
    return fromJson(this.scope.context.engine.stats());
  }

  check(): CheckReport {
    return fromJson(runToEnd(this.scope.context.engine, (store) => store.check()) as string);
  }

  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return iterateEvents((listener) => this.scope.context.listeners.add(listener), options);
  }

  async checkpoint(name: string, options: CheckpointOptions = {}): Promise<void> {
    const { engine } = this.scope.context;
    const request = toStoreRequest(name, checked(options, TIMEOUT).timeout);
    await wrapErrors(async () => (await checkpoint(engine, request)).end);
  }

  async export(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { engine } = this.scope.context;
    const { blob, file } = await wrapErrors(async () => (await exportFile(engine)).end);
    return exportStream(blob, () => {
      if (file !== undefined) ignoreResult(endExport(engine, file));
    });
  }

  close(): void {
    const { engine, listeners } = this.scope.context;
    const closed = new ClosedError("the store is closed");
    try {
      engine.close(closed);
    } finally {
      listeners.end(closed);
    }
  }

  /** Closes the store at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }
}
