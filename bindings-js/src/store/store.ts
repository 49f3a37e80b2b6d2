/** An open store: its default keyspace, and administration. */

import type { Encoding } from "../api/data.ts";
import type { Event } from "../api/events.ts";
import type {
  ChangesOptions,
  CheckpointOptions,
  KeyspaceOptions,
  WaitOptions,
  WriteOptions,
} from "../api/options.ts";
import type { CheckReport, Stats } from "../api/stats.ts";
import type {
  CallOptions,
  ChangeBatch,
  DbOf,
  KeyspaceOf,
  Mode,
  Result,
  Returnable,
  SnapshotOf,
  TransactionOf,
} from "../api/store.ts";
import {
  CHANGES,
  checked,
  ENCODINGS,
  KEYSPACE,
  RANGE,
  TIMEOUT,
  WAIT,
  WRITE,
} from "../codec/options.ts";
import {
  checkKeyspaceName,
  type Defaults,
  toDurability,
  toEncodings,
  toKeyspace,
} from "../codec/requests.ts";
import { toSpan } from "../codec/span.ts";
import { check } from "../codec/validate.ts";
import { abortable, ignoreResult } from "../shared/abort.ts";
import { iterateEvents, parseNames } from "../shared/events.ts";
import { Keyspace } from "./keyspace.ts";
import type { Later, Port } from "./port.ts";
import { Snapshot } from "./snapshot.ts";

export class Store<M extends Mode, K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<M, K, V>
  implements DbOf<M, K, V>
{
  readonly #defaults: Defaults<K, V>;

  /** @internal */
  constructor(name: string, port: Port<M>, defaults: Defaults<K, V>) {
    const none = { opened: undefined, reads: undefined, owner: undefined };
    const scope = { port, keyspace: 0, snapshot: 0, ...none };
    super(name, { ...scope, ...defaults }, defaults.durability);
    this.#defaults = defaults;
  }

  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): KeyspaceOf<M, KE, VE> {
    const request = toKeyspace(name, checked(options, KEYSPACE));
    const encodings = toEncodings<KE, VE>(options, this.#defaults);
    const opened = this.scope.port.keyspace(...request);
    return new Keyspace(
      name,
      { ...this.scope, ...encodings, ...opened },
      this.#defaults.durability,
    );
  }

  keyspaces(options?: CallOptions<M>): Result<M, string[]> {
    const { port } = this.scope;
    return this.call(options, [], () =>
      port.map(port.invoke("keyspaces"), (json) => parseNames(json).map(([, name]) => name)),
    );
  }

  dropKeyspace(name: string, options?: CallOptions<M>): Result<M, boolean> {
    return this.call(options, [], () => this.scope.port.dropKeyspace(checkKeyspaceName(name)));
  }

  dropQuarantine(options?: CallOptions<M>): Result<M, number> {
    return this.call(options, [], () => this.scope.port.invoke("drop_quarantine"));
  }

  transact<T>(
    body: (transaction: TransactionOf<M, K, V>) => (T | Result<M, T>) & Returnable<M, T>,
    options?: CallOptions<M, WriteOptions>,
  ): Result<M, T> {
    const { scope } = this;
    return this.call(options, [WRITE], (given: WriteOptions & WaitOptions) => {
      const sync = toDurability(given, this.#defaults.durability) === "sync";
      const { port } = scope;
      return port.map<Later, T>(port.later(), ({ transact }) =>
        transact<M, K, V, T>(scope, body, sync, given.signal),
      );
    });
  }

  live<T>(
    query: (reader: SnapshotOf<M, K, V>) => T | Promise<T>,
    options: WaitOptions = {},
  ): AsyncGenerator<T, void, undefined> {
    check("query", query, typeof query === "function", "a function");
    const { signal } = checked(options, WAIT);
    return this.#later(({ live }) => live(this.scope, query, signal));
  }

  changes<KE extends Encoding = K, VE extends Encoding = V>(
    options: ChangesOptions<KE, VE> = {},
  ): AsyncGenerator<ChangeBatch<KE, VE>, void, undefined> {
    const { since, keyspace, signal, ...given } = checked(options, RANGE, ENCODINGS, CHANGES);
    const { keyEncoding, valueEncoding, ...range } = given;
    const encodings = toEncodings<KE, VE>({ keyEncoding, valueEncoding }, this.#defaults);
    const filter = { keyspace, span: toSpan(range, encodings.keyEncoding), ...encodings };
    const { port } = this.scope;
    // From this call on. A store that is closed already fails.
    const end = (async () => port.invoke("feed_cursor", 0) as Promise<string>)();
    ignoreResult(end);
    return this.#later(({ changes }) => changes(port, since, end, filter, signal));
  }

  snapshot(): SnapshotOf<M, K, V> {
    return new Snapshot(this.scope);
  }

  sync(options?: CallOptions<M>): Result<M, void> {
    return this.call(options, [], () => this.scope.port.invoke("sync"));
  }

  flush(options?: CallOptions<M>): Result<M, void> {
    return this.call(options, [], () => this.scope.port.invoke("flush"));
  }

  stats(options?: CallOptions<M>): Result<M, Stats> {
    return this.report(options, "stats");
  }

  check(options?: CallOptions<M>): Result<M, CheckReport> {
    return this.report(options, "check");
  }

  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return iterateEvents(this.scope.port, options);
  }

  async checkpoint(name: string, options: CheckpointOptions & WaitOptions = {}): Promise<void> {
    const { port } = this.scope;
    const { timeout, signal } = checked(options, TIMEOUT, port.waits);
    await abortable(signal, () => port.checkpoint(name, timeout));
  }

  async export(options?: CallOptions<M>): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { port } = this.scope;
    const given: WaitOptions = options === undefined ? {} : options;
    const { signal } = checked(given, port.waits);
    const { blob, end } = await abortable(signal, () => port.exportFile());
    const { exportStream } = await port.later();
    return exportStream(blob, end);
  }

  close(): Result<M, void> {
    return this.scope.port.close();
  }

  async *#later<T>(
    start: (later: Later) => AsyncGenerator<T, void, undefined>,
  ): AsyncGenerator<T, void, undefined> {
    yield* start(await this.scope.port.later());
  }
}
