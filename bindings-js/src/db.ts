/** A store, its keyspaces and its snapshots, as the page sees them. */

import { abortable, type WaitOptions } from "./abort.ts";
import { type BatchOperation, packOperations } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { type Event, events } from "./events.ts";
import { exportStream } from "./files.ts";
import {
  ask,
  checkKeyspaceName,
  type Defaults,
  type Durability,
  isSync,
  type KeyspaceOptions,
  toEncodings,
  type WriteOptions,
} from "./options.ts";
import { type Bytes, type Encoding, type Packer, packRange, type RangeOptions } from "./packing.ts";
import { packPolicy, type Policy, type PolicyOptions } from "./policies.ts";
import type { Exported, Operation } from "./protocol.ts";
import { Reader, type Scope } from "./reader.ts";
import { type CheckReport, type Level, parse, type Stats } from "./stats.ts";

/** A named tree of a store, with a policy of its own. */
export class Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8"> extends Reader<
  K,
  V
> {
  /** Its name; of a store, the store's. */
  readonly name: string;
  readonly #durability: Durability;

  /** @internal */
  constructor(name: string, scope: Scope<K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#durability = durability;
  }

  /** Sets the value of a key. */
  async put(key: Bytes, value: Bytes, options: WriteOptions = {}): Promise<void> {
    await this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  /** Removes a key; it need not be there. */
  async delete(key: Bytes, options: WriteOptions = {}): Promise<void> {
    await this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  /** Writes all operations, in order, or none; they may name other keyspaces of the store. */
  async batch(
    operations: Iterable<BatchOperation<Keyspace<Encoding, Encoding>>>,
    options: WriteOptions = {},
  ): Promise<void> {
    const { connection } = this.scope;
    await this.#write(options, (batch, own) => {
      packOperations(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && other.scope.connection === connection;
        return mine ? other.scope.keyspace : undefined;
      });
    });
  }

  /** The levels of the tree, with their runs and tables. */
  async levels(options: WaitOptions = {}): Promise<Level[]> {
    const { keyspace, connection } = this.scope;
    const shape = await this.run(options, () => connection.call({ op: "levels", keyspace }));
    return (parse(shape as string) as { levels: Level[] }).levels;
  }

  /** The compaction policy, with all its parameters. */
  async policy(options: WaitOptions = {}): Promise<Required<PolicyOptions>> {
    const { keyspace, connection } = this.scope;
    const policy = await this.run(options, () => connection.call({ op: "policy", keyspace }));
    return JSON.parse(policy as string) as Required<PolicyOptions>;
  }

  /** Gives the keyspace another compaction policy; the next compactions move the tree towards it. */
  async setPolicy(policy: Policy, options: WaitOptions = {}): Promise<void> {
    const { keyspace, connection } = this.scope;
    const operation = { op: "setPolicy", keyspace, policy: packPolicy(policy) } as const;
    await this.run(options, () => connection.call(operation));
  }

  /** About how many bytes of tables hold the keys of a range; what is in memory does not count. */
  async approximateSize(options: RangeOptions & WaitOptions = {}): Promise<number> {
    const { keyspace, connection } = this.scope;
    const operation = { op: "approximateSize", keyspace, range: packRange(options) } as const;
    return (await this.run(options, () => connection.call(operation))) as number;
  }

  /** Merges what lies in a range into one run, without what no reader can see any more. */
  async compactRange(options: RangeOptions & WaitOptions = {}): Promise<void> {
    const { keyspace, connection } = this.scope;
    const operation = { op: "compactRange", keyspace, range: packRange(options) } as const;
    await this.run(options, () => connection.call(operation));
  }

  async #write(
    options: WriteOptions,
    fill: (batch: Packer, keyspace: number) => void,
  ): Promise<void> {
    const { keyspace, connection } = this.scope;
    const sync = isSync(options, { durability: this.#durability });
    await this.run(options, () => connection.write(sync, (batch) => fill(batch, keyspace)));
  }
}

/** Releases, and reports, snapshots that were forgotten. */
const forgotten: FinalizationRegistry<() => void> = new FinalizationRegistry((report) => report());

/**
 * The whole store as it was at one moment: reads the default keyspace, and others through
 * `keyspace`. It keeps old versions from being dropped: release it when done.
 */
export class Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements Disposable
{
  /** @internal */
  constructor(scope: Scope<K, V>) {
    super(scope);
    const { connection, snapshot } = scope;
    forgotten.register(this, () => connection.forgot(snapshot), this);
  }

  /** The same moment in another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(keyspace: Keyspace<KE, VE>): Reader<KE, VE> {
    return new Reader({ ...keyspace.scope, snapshot: this.scope.snapshot, of: this });
  }

  /** Lets the store forget that moment. */
  release(): void {
    const { connection, snapshot } = this.scope;
    forgotten.unregister(this);
    connection.call({ op: "release", snapshot }).catch(() => undefined);
  }

  /** Releases, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.release();
  }
}

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
    checkKeyspaceName(name);
    const { create = true, policy } = options;
    const encodings = toEncodings<KE, VE>(options, this.#defaults);
    const { scope } = this;
    let known = this.#opened.get(name);
    if (known === undefined || policy !== undefined) {
      const keyspace = known?.keyspace ?? this.#nextKeyspace++;
      const packed = policy === undefined ? undefined : packPolicy(policy);
      const opened = scope.connection.keyspace(keyspace, name, create, packed);
      known = { keyspace, opened };
      this.#opened.set(name, known);
      opened.catch(() => this.#opened.delete(name));
    }
    return new Keyspace(name, { ...scope, ...encodings, ...known }, this.#defaults.durability);
  }

  /** The names of all keyspaces. */
  async keyspaces(options: WaitOptions = {}): Promise<string[]> {
    const names = (await this.#call({ op: "keyspaces" }, options)) as string;
    return (JSON.parse(names) as [number, string][]).map(([, name]) => name);
  }

  /**
   * Removes a keyspace with all it holds; answers whether there was one. Iterations under way go on
   * to their end.
   */
  async dropKeyspace(name: string, options: WaitOptions = {}): Promise<boolean> {
    checkKeyspaceName(name);
    this.#opened.delete(name);
    return (await this.#call({ op: "dropKeyspace", name }, options)) as boolean;
  }

  /** The store as it is now, after every call made before. Release it when done. */
  snapshot(): Snapshot<K, V> {
    const { scope } = this;
    const snapshot = this.#nextSnapshot++;
    // A store that is closed says so at the first read.
    scope.connection.call({ op: "snapshot", snapshot }).catch(() => undefined);
    return new Snapshot({ ...scope, snapshot });
  }

  /** Puts every earlier write on the medium. */
  async sync(options: WaitOptions = {}): Promise<void> {
    await this.#call({ op: "sync" }, options);
  }

  /** Writes what is in memory to tables, and puts it on the medium. */
  async flush(options: WaitOptions = {}): Promise<void> {
    await this.#call({ op: "flush" }, options);
  }

  /** The store's shape, room and counters. */
  async stats(options: WaitOptions = {}): Promise<Stats> {
    return parse((await this.#call({ op: "stats" }, options)) as string) as Stats;
  }

  /** Reads and verifies everything stored, and reports what is damaged. */
  async check(options: WaitOptions = {}): Promise<CheckReport> {
    return parse((await this.#call({ op: "check" }, options)) as string) as CheckReport;
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
    await this.#call({ op: "checkpoint", ...ask(name, options.timeout) }, options);
  }

  /**
   * The store, as it is now, as a single file: a native program opens or imports it, and so does
   * `importStore`. The file lies on the private file system until it was read; read it to its end,
   * or cancel it.
   */
  async export(options: WaitOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { blob, file } = (await this.#call({ op: "export" }, options)) as Exported;
    return exportStream(blob, () => {
      if (file !== undefined) this.#call({ op: "endExport", file }, {}).catch(() => undefined);
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

  #call(operation: Operation, { signal }: WaitOptions): Promise<unknown> {
    return abortable(signal, () => this.scope.connection.call(operation));
  }
}
