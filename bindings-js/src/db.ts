/** A store, as the page sees it. */

import type { WaitOptions } from "./abort.ts";
import type { Connection } from "./connection.ts";
import { type Event, events } from "./events.ts";
import { exportStream } from "./files.ts";
import { Keyspace } from "./keyspace.ts";
import {
  ask,
  checkKeyspaceName,
  type Defaults,
  type KeyspaceOptions,
  toEncodings,
  toKeyspace,
} from "./options.ts";
import type { Encoding } from "./packing.ts";
import type { Exported } from "./protocol.ts";
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
  /** The keyspaces that were opened, by name. */
  readonly #opened: Map<string, { keyspace: number; opened: Promise<unknown> }> = new Map();
  #nextKeyspace = 1;
  #nextSnapshot = 1;

  /** @internal */
  constructor(name: string, connection: Connection, defaults: Defaults<K, V>) {
    const scope = { connection, keyspace: 0, snapshot: 0, opened: undefined, of: undefined };
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
    let known = this.#opened.get(name);
    if (known === undefined || options.policy !== undefined) {
      const keyspace = known?.keyspace ?? this.#nextKeyspace++;
      const opened = scope.connection.keyspace(keyspace, ...request);
      known = { keyspace, opened };
      this.#opened.set(name, known);
      opened.catch(() => this.#opened.delete(name));
    }
    return new Keyspace(name, { ...scope, ...encodings, ...known }, this.#defaults.durability);
  }

  /** The names of all keyspaces. */
  async keyspaces(options: WaitOptions = {}): Promise<string[]> {
    return parseNames(await this.ask(options, "keyspaces")).map(([, name]) => name);
  }

  /**
   * Removes a keyspace with all it holds; answers whether there was one. Iterations under way go on
   * to their end.
   */
  async dropKeyspace(name: string, options: WaitOptions = {}): Promise<boolean> {
    checkKeyspaceName(name);
    this.#opened.delete(name);
    return await this.ask(options, "drop_keyspace", name);
  }

  /** The store as it is now, after every call made before. Release it when done. */
  snapshot(): Snapshot<K, V> {
    const { scope } = this;
    const snapshot = this.#nextSnapshot++;
    // A store that is closed says so at the first read.
    scope.connection.tell(scope.connection.ask("snapshot", snapshot));
    return new Snapshot({ ...scope, snapshot });
  }

  /** Puts every earlier write on the medium. */
  async sync(options: WaitOptions = {}): Promise<void> {
    await this.ask(options, "sync");
  }

  /**
   * Writes what is in memory to tables, and puts it on the medium: all that was written before. Other
   * calls are answered meanwhile.
   */
  async flush(options: WaitOptions = {}): Promise<void> {
    await this.ask(options, "flush");
  }

  /** The store's shape, room and counters. */
  async stats(options: WaitOptions = {}): Promise<Stats> {
    return parse(await this.ask(options, "stats"));
  }

  /**
   * Reads and verifies everything stored, and reports what is damaged. Other calls are answered
   * meanwhile.
   */
  async check(options: WaitOptions = {}): Promise<CheckReport> {
    return parse(await this.ask(options, "check"));
  }

  /**
   * What the engine does, from the first step on: flushes, compactions with their reasons, stalls.
   * Ends when the store is closed. Nothing is sent while nobody listens.
   */
  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return events(this.scope.connection.listeners, options);
  }

  /**
   * Copies the store, as it is now, to another name on this origin, which no store may have.
   * `timeout` is how long to wait for another that holds that name, in milliseconds.
   */
  async checkpoint(
    name: string,
    options: WaitOptions & { timeout?: number | undefined } = {},
  ): Promise<void> {
    const operation = { op: "checkpoint", ...ask(name, options.timeout) } as const;
    await this.run(options, () => this.scope.connection.call(operation));
  }

  /**
   * The store, as it is now, as a single file: a native program opens or imports it, and so does
   * `importStore`. The file lies on the private file system until it was read; read it to its end,
   * or cancel it.
   */
  async export(options: WaitOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { connection } = this.scope;
    const exporting = () => connection.call({ op: "export" }) as Promise<Exported>;
    const { blob, file } = await this.run(options, exporting);
    return exportStream(blob, () => {
      if (file !== undefined) connection.tell(connection.call({ op: "endExport", file }));
    });
  }

  /** How many bytes this origin takes in all, and how many it may. */
  async estimate(): Promise<{ usage: number; quota: number }> {
    const { usage = 0, quota = 0 } = await navigator.storage.estimate();
    return { usage, quota };
  }

  /** Asks the browser to keep this origin's data when room gets scarce; answers whether it will. */
  persist(): Promise<boolean> {
    return navigator.storage.persist();
  }

  /** Syncs, closes the store, and lets others open it. Calls made before are done first. */
  close(): Promise<void> {
    return this.scope.connection.close();
  }

  /** Closes, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
