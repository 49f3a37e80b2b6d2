/** A store in a page: requests to its worker. */

import type { Encoding } from "../api/data.ts";
import type { Event } from "../api/events.ts";
import type { CheckpointOptions, KeyspaceOptions, WaitOptions } from "../api/options.ts";
import type { CheckReport, Stats } from "../api/stats.ts";
import type { DbOf } from "../api/store.ts";
import { fromJson, parseNames } from "../codec/json.ts";
import { checked, KEYSPACE, TIMEOUT } from "../codec/options.ts";
import type { Exported } from "../codec/protocol.ts";
import {
  checkKeyspaceName,
  type Defaults,
  toEncodings,
  toKeyspace,
  toStoreRequest,
} from "../codec/requests.ts";
import { ignoreResult } from "../shared/abort.ts";
import { checkPrivateFiles } from "../shared/environment.ts";
import { iterateEvents } from "../shared/events.ts";
import { exportStream } from "../shared/streams.ts";
import { Keyspace } from "./keyspace.ts";
import type { Session } from "./session.ts";
import { Snapshot } from "./snapshot.ts";

export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<K, V>
  implements DbOf<"async", K, V>, AsyncDisposable
{
  readonly #defaults: Defaults<K, V>;

  /** @internal */
  constructor(name: string, session: Session, defaults: Defaults<K, V>) {
    const scope = { session, keyspace: 0, snapshot: 0, opened: undefined, owner: undefined };
    super(name, { ...scope, ...defaults }, defaults.durability);
    this.#defaults = defaults;
  }

  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): Keyspace<KE, VE> {
    const request = toKeyspace(name, checked(options, KEYSPACE));
    const encodings = toEncodings<KE, VE>(options, this.#defaults);
    const { scope } = this;
    const opened = scope.session.keyspace(...request);
    return new Keyspace(name, { ...scope, ...encodings, ...opened }, this.#defaults.durability);
  }

  async keyspaces(options: WaitOptions = {}): Promise<string[]> {
    return parseNames(await this.invoke(options, "keyspaces")).map(([, name]) => name);
  }

  async dropKeyspace(name: string, options: WaitOptions = {}): Promise<boolean> {
    checkKeyspaceName(name);
    return await this.run(options, () => this.scope.session.dropKeyspace(name));
  }

  async dropQuarantine(options: WaitOptions = {}): Promise<number> {
    return await this.invoke(options, "drop_quarantine");
  }

  snapshot(): Snapshot<K, V> {
    const { scope } = this;
    const snapshot = scope.session.number();
    // If the store is closed, the first read fails and says so.
    ignoreResult(scope.session.invoke("snapshot", snapshot));
    return new Snapshot({ ...scope, snapshot });
  }

  async sync(options: WaitOptions = {}): Promise<void> {
    await this.invoke(options, "sync");
  }

  async flush(options: WaitOptions = {}): Promise<void> {
    await this.invoke(options, "flush");
  }

  async stats(options: WaitOptions = {}): Promise<Stats> {
    return fromJson(await this.invoke(options, "stats"));
  }

  async check(options: WaitOptions = {}): Promise<CheckReport> {
    return fromJson(await this.invoke(options, "check"));
  }

  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return iterateEvents((listener) => this.scope.session.listen(listener), options);
  }

  async checkpoint(name: string, options: CheckpointOptions & WaitOptions = {}): Promise<void> {
    const operation = { op: "checkpoint", ...toStoreRequest(name, options.timeout) } as const;
    await this.run(options, () => this.scope.session.call(operation), TIMEOUT);
  }

  async export(options: WaitOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { session } = this.scope;
    const exporting = () => session.call({ op: "export" }) as Promise<Exported>;
    const { blob, file } = await this.run(options, exporting);
    return exportStream(blob, () => {
      if (file !== undefined) ignoreResult(session.call({ op: "endExport", file }));
    });
  }

  /** Returns the storage in use by this origin, and its quota, in bytes. */
  async estimate(): Promise<{ usage: number; quota: number }> {
    checkPrivateFiles();
    const { usage = 0, quota = 0 } = await navigator.storage.estimate();
    return { usage, quota };
  }

  /** Asks the browser not to evict this origin's data when storage runs low; returns its decision. */
  async persist(): Promise<boolean> {
    checkPrivateFiles();
    return navigator.storage.persist();
  }

  close(): Promise<void> {
    return this.scope.session.close();
  }

  /** Closes the store at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
