/** A store, as the page sees it. */

import type { WaitOptions } from "./abort.ts";
import { ignore } from "./connection.ts";
import { type Event, events } from "./events.ts";
import { exportStream } from "./files.ts";
import { Keyspace } from "./keyspace.ts";
import {
  checkKeyspaceName,
  checkPrivateFiles,
  type Defaults,
  type KeyspaceOptions,
  toEncodings,
  toKeyspace,
  toStoreRequest,
} from "./options.ts";
import type { Encoding } from "./packing.ts";
import type { Exported } from "./protocol.ts";
import type { Session } from "./session.ts";
import { Snapshot } from "./snapshot.ts";
import { type CheckReport, parse, parseNames, type Stats } from "./stats.ts";

/**
 * An open store; its own calls are about its default keyspace. Calls take effect in the order in
 * which they are made, also when they are not awaited in between.
 */
export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<K, V>
  implements AsyncDisposable
{
  readonly #defaults: Defaults<K, V>;

  /** @internal */
  constructor(name: string, session: Session, defaults: Defaults<K, V>) {
    const scope = { session, keyspace: 0, snapshot: 0, opened: undefined, of: undefined };
    super(name, { ...scope, ...defaults }, defaults.durability);
    this.#defaults = defaults;
  }

  /**
   * The keyspace of this name. It can be used at once; if it cannot be opened or created, its calls
   * fail and say why.
   */
  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): Keyspace<KE, VE> {
    const request = toKeyspace(name, options);
    const encodings = toEncodings<KE, VE>(options, this.#defaults);
    const { scope } = this;
    const opened = scope.session.keyspace(...request);
    return new Keyspace(name, { ...scope, ...encodings, ...opened }, this.#defaults.durability);
  }

  /** The names of all keyspaces. */
  async keyspaces(options: WaitOptions = {}): Promise<string[]> {
    return parseNames(await this.ask(options, "keyspaces")).map(([, name]) => name);
  }

  /**
   * Removes a keyspace with all it holds; returns whether there was one. Iterations under way go on
   * to their end.
   */
  async dropKeyspace(name: string, options: WaitOptions = {}): Promise<boolean> {
    checkKeyspaceName(name);
    return await this.run(options, () => this.scope.session.dropKeyspace(name));
  }

  /**
   * Removes the remains of writes that a crash cut short, which opening sets aside; returns how many
   * bytes that were. `stats` tells how many there are.
   */
  async dropSetAside(options: WaitOptions = {}): Promise<number> {
    return await this.ask(options, "drop_set_aside");
  }

  /** The store as it is now, after every call made before. Release it when done. */
  snapshot(): Snapshot<K, V> {
    const { scope } = this;
    const snapshot = scope.session.number();
    // A store that is closed says so at the first read.
    ignore(scope.session.ask("snapshot", snapshot));
    return new Snapshot({ ...scope, snapshot });
  }

  /** Makes every earlier write durable. */
  async sync(options: WaitOptions = {}): Promise<void> {
    await this.ask(options, "sync");
  }

  /**
   * Writes what is in memory to tables, durably: all that was written before. Other calls are served
   * meanwhile.
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    await this.ask(options, "flush");
  }

  /** The store's shape, room and counters. */
  async stats(options: WaitOptions = {}): Promise<Stats> {
    return parse(await this.ask(options, "stats"));
  }

  /**
   * Reads and verifies everything stored, and reports what is damaged. Other calls are served
   * meanwhile.
   */
  async check(options: WaitOptions = {}): Promise<CheckReport> {
    return parse(await this.ask(options, "check"));
  }

  /**
   * What the engine does, from this call on: flushes, compactions with their reasons, stalls. Ends
   * when the store is closed. A listener that is 10,000 events behind learns how many were dropped.
   * Nothing is sent while nobody listens.
   */
  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return events((listener) => this.scope.session.listen(listener), options);
  }

  /**
   * Copies the store, as it is now, to another name on this origin, which no store may have.
   * `timeout` is how long to wait for another that holds that name, in milliseconds.
   */
  async checkpoint(
    name: string,
    options: WaitOptions & { timeout?: number | undefined } = {},
  ): Promise<void> {
    const operation = { op: "checkpoint", ...toStoreRequest(name, options.timeout) } as const;
    await this.run(options, () => this.scope.session.call(operation));
  }

  /**
   * The store, as it is now, as a single file: a native program opens or imports it, and so does
   * `importStore`. The file lies on the private file system until it was read; read it to its end,
   * or cancel it.
   */
  async export(options: WaitOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { session } = this.scope;
    const exporting = () => session.call({ op: "export" }) as Promise<Exported>;
    const { blob, file } = await this.run(options, exporting);
    return exportStream(blob, () => {
      if (file !== undefined) ignore(session.call({ op: "endExport", file }));
    });
  }

  /** How many bytes this origin takes in all, and how many it may. */
  async estimate(): Promise<{ usage: number; quota: number }> {
    checkPrivateFiles();
    const { usage = 0, quota = 0 } = await navigator.storage.estimate();
    return { usage, quota };
  }

  /** Asks the browser to keep this origin's data when room gets scarce; returns whether it will. */
  async persist(): Promise<boolean> {
    checkPrivateFiles();
    return navigator.storage.persist();
  }

  /**
   * Syncs, closes the store, and lets others open it. Calls made before are done first. A store that
   * this page has opened more than once stays open until each has been closed.
   */
  close(): Promise<void> {
    return this.scope.session.close();
  }

  /** Closes, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
