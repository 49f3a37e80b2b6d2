/**
 * Stores for a worker that has them for itself: the engine runs in the caller's own worker, and
 * every call but those that wait for files answers at once. No message, and few copies.
 */

import type { WaitOptions } from "./abort.ts";
import { abortable } from "./abort.ts";
import { type BatchOperation, packOperations } from "./batch.ts";
import { checkpoint, endExport, exportFile, Import } from "./copies.ts";
import type { Scan } from "../wasm/terrane.js";
import { Engine } from "./engine.ts";
import { ClosedError } from "./errors.ts";
import { type Event, events, Listeners } from "./events.ts";
import { exportStream, send } from "./files.ts";
import {
  ask,
  checkEncoding,
  checkIterable,
  checkKeyspaceName,
  checkLimit,
  checkPrivateFiles,
  type Defaults,
  type Durability,
  isSync,
  type KeyspaceOptions,
  type StoreOptions,
  toDefaults,
  toEncodings,
  toRequest,
  unavailable,
} from "./options.ts";
import {
  type Bytes,
  checkLength,
  type Decoded,
  decode,
  type Encoding,
  MAX_KEY_BYTES,
  Packer,
  packRange,
  type RangeOptions,
} from "./packing.ts";
import { type Entry, FIRST_PAGE_BYTES, PAGE_BYTES, pairs, type Part, single } from "./parts.ts";
import { packPolicy, type Policy, type PolicyOptions } from "./policies.ts";
import { type CheckReport, type Level, parse, type Stats } from "./stats.ts";
import { Strings } from "./strings.ts";
import type { Trace } from "./trace.ts";
import { toError } from "./wire.ts";

export type { WaitOptions } from "./abort.ts";
export { destroy } from "./destroy.ts";
export type { Entry } from "./parts.ts";
export * from "./errors.ts";
export type { Event, Observed } from "./events.ts";
export type { BatchOperation } from "./batch.ts";
export type { Durability, KeyspaceOptions, StoreOptions } from "./options.ts";
export type { Bytes, Decoded, Encoding, RangeOptions } from "./packing.ts";
export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./packing.ts";
export type * from "./policies.ts";
export type * from "./stats.ts";
export type * from "./trace.ts";

/** Options of a write. */
export interface WriteOptions {
  /** Default: the store's. */
  durability?: Durability | undefined;
}

/** Options of a read. */
export interface ReadOptions<V extends Encoding> {
  /** How values come back. Default: the keyspace's. */
  valueEncoding?: V | undefined;
}

/** Options of an iteration. */
export interface EntriesOptions<K extends Encoding, V extends Encoding>
  extends RangeOptions, ReadOptions<V> {
  /** How keys come back. Default: the keyspace's. */
  keyEncoding?: K | undefined;
  /** Begin with the last key. Default: false. */
  reverse?: boolean | undefined;
  /** At most so many entries. Default: all. */
  limit?: number | undefined;
}

/** Packers that keep more than this many bytes are not used again. */
const SPARE_BYTES = 1 << 20;
/** The most entries that are counted in one step. */
const COUNT_STEP = 0xffff_ffff;

/** What all parts of a store share. */
class Core {
  readonly name: string;
  readonly engine: Engine;
  /** Holds one key at a time. */
  readonly #key: Packer = new Packer();
  readonly listeners: Listeners;
  #spare: Packer | undefined = new Packer();

  constructor(name: string, engine: Engine) {
    this.name = name;
    this.engine = engine;
    this.listeners = new Listeners((on) => {
      const tell = (json: string) => this.listeners.read(json);
      engine.call((store) => {
        store.listen(on ? tell : undefined);
        if (on) this.listeners.learn(store.keyspaces());
      });
    });
  }

  /** The bytes of a key, until the next call; they are the key itself where it is bytes. */
  keyBytes(key: Bytes): Uint8Array {
    if (key instanceof Uint8Array) {
      checkLength("key", key.length, MAX_KEY_BYTES);
      return key;
    }
    this.#key.truncate(0);
    this.#key.bareKey(key);
    return this.#key.bytes();
  }

  /** Commits what `fill` packs, which may call the store itself. */
  write(sync: boolean, fill: (batch: Packer) => void): void {
    const batch = this.#spare ?? new Packer();
    this.#spare = undefined;
    try {
      fill(batch);
      this.engine.write(batch.bytes());
      if (sync) this.engine.sync();
    } finally {
      const small = batch.length <= SPARE_BYTES;
      batch.truncate(0);
      if (small) this.#spare = batch;
    }
  }
}

/** What a reader reads, and how. */
interface Scope<K extends Encoding, V extends Encoding> {
  core: Core;
  keyspace: number;
  /** 0 to read the present. */
  snapshot: number;
  keyEncoding: K;
  valueEncoding: V;
  /** The snapshot, which must not be forgotten as long as this is used. */
  of: object | undefined;
}

/** Reads a keyspace. Keys are ordered by their bytes. */
export class Reader<K extends Encoding = "utf8", V extends Encoding = "utf8"> {
  /** @internal */
  readonly scope: Scope<K, V>;

  /** @internal */
  constructor(scope: Scope<K, V>) {
    this.scope = scope;
  }

  /** The value of a key; undefined if it has none. */
  get<E extends Encoding = V>(key: Bytes, options: ReadOptions<E> = {}): Decoded<E> | undefined {
    const { core, keyspace, snapshot } = this.scope;
    const encoding = this.#valueEncoding(options);
    const bytes = core.keyBytes(key);
    const value = core.engine.call((store) => store.get(keyspace, snapshot, bytes));
    return value && decode(value, encoding);
  }

  /** The values of many keys, in their order. */
  getMany<E extends Encoding = V>(
    keys: readonly Bytes[],
    options: ReadOptions<E> = {},
  ): (Decoded<E> | undefined)[] {
    checkIterable("keys", keys);
    const { core, keyspace, snapshot } = this.scope;
    const encoding = this.#valueEncoding(options);
    const packer = new Packer();
    for (const key of keys) packer.key(key);
    const values = core.engine.call((store) => store.get_many(keyspace, snapshot, packer.bytes()));
    return new Strings(values).read(encoding);
  }

  /** How the value of a key is found, step by step. */
  trace(key: Bytes): Trace {
    const { core, keyspace, snapshot } = this.scope;
    const bytes = core.keyBytes(key);
    const json = core.engine.call((store) => store.trace(keyspace, snapshot, bytes));
    return parse(json) as Trace;
  }

  /** How an iteration over a range comes to its first entry, step by step. */
  traceScan(options: RangeOptions & { reverse?: boolean | undefined } = {}): Trace {
    const { core, keyspace, snapshot } = this.scope;
    const { reverse = false } = options;
    const range = packRange(options);
    const json = core.engine.call((store) => store.trace_scan(keyspace, snapshot, range, reverse));
    return parse(json) as Trace;
  }

  /**
   * The entries of a range, in key order, as the store is at the first step; later writes do not
   * show. Leave the loop, or call `return()`, so that the store can forget that state.
   */
  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> = {},
  ): Generator<Entry<KE, VE>, void, undefined> {
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(options, this.scope);
    return this.#walk(options, pairs(keyEncoding, valueEncoding));
  }

  /** The keys of a range, as `entries` gives them. */
  keys<KE extends Encoding = K>(
    options: EntriesOptions<KE, V> = {},
  ): Generator<Decoded<KE>, void, undefined> {
    return this.#walk(options, single("keys", toEncodings<KE, V>(options, this.scope).keyEncoding));
  }

  /** The values of a range, in the order of their keys. */
  values<VE extends Encoding = V>(
    options: EntriesOptions<K, VE> = {},
  ): Generator<Decoded<VE>, void, undefined> {
    return this.#walk(options, single("values", this.#valueEncoding(options)));
  }

  /** How many entries a range holds. Reads them all. */
  count(options: RangeOptions = {}): number {
    let total = 0;
    for (const counted of this.#pages(options, (scan) => scan.count(COUNT_STEP))) total += counted;
    return total;
  }

  #walk<T>(
    options: EntriesOptions<Encoding, Encoding>,
    { keys, values, read }: Part<T>,
  ): Generator<T, void, undefined> {
    let bytes = FIRST_PAGE_BYTES;
    const pages = this.#pages(options, (scan) => {
      const page = scan.page(bytes, keys, values);
      bytes = PAGE_BYTES;
      return page;
    });
    return (function* () {
      for (const page of pages) yield* read(page);
    })();
  }

  /** What `step` takes of a scan, until it is done. */
  *#pages<T>(
    options: EntriesOptions<Encoding, Encoding>,
    step: (scan: Scan) => T,
  ): Generator<T, void, undefined> {
    const { core, keyspace, snapshot } = this.scope;
    const { reverse = false } = options;
    const [range, limit] = [packRange(options), checkLimit(options.limit)];
    const scan = core.engine.call((store) => store.scan(keyspace, snapshot, range, reverse, limit));
    try {
      while (!scan.done) yield core.engine.call(() => step(scan));
    } finally {
      scan.free();
      // Files that it held may go.
      core.engine.askTurn();
    }
  }

  #valueEncoding<E extends Encoding>({ valueEncoding }: ReadOptions<E>): E {
    const encoding = valueEncoding ?? (this.scope.valueEncoding as Encoding as E);
    return checkEncoding("valueEncoding", encoding);
  }
}

/** A named tree of a store, with a policy of its own. */
export class Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8"> extends Reader<
  K,
  V
> {
  /** Its name; of a store, the store's. */
  readonly name: string;
  readonly #defaults: { durability: Durability };

  /** @internal */
  constructor(name: string, scope: Scope<K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#defaults = { durability };
  }

  /** Sets the value of a key. */
  put(key: Bytes, value: Bytes, options: WriteOptions = {}): void {
    const { core, keyspace } = this.scope;
    core.write(isSync(options, this.#defaults), (batch) => batch.put(keyspace, key, value));
  }

  /** Removes a key; it need not be there. */
  delete(key: Bytes, options: WriteOptions = {}): void {
    const { core, keyspace } = this.scope;
    core.write(isSync(options, this.#defaults), (batch) => batch.delete(keyspace, key));
  }

  /** Writes all operations, in order, or none; they may name other keyspaces of the store. */
  batch(
    operations: Iterable<BatchOperation<Keyspace<Encoding, Encoding>>>,
    options: WriteOptions = {},
  ): void {
    const { core, keyspace } = this.scope;
    core.write(isSync(options, this.#defaults), (batch) => {
      packOperations(batch, operations, keyspace, (other) => {
        const mine = other instanceof Keyspace && other.scope.core === core;
        return mine ? other.scope.keyspace : undefined;
      });
    });
  }

  /** The levels of the tree, with their runs and tables. */
  levels(): Level[] {
    const { core, keyspace } = this.scope;
    return (parse(core.engine.call((store) => store.levels(keyspace))) as { levels: Level[] })
      .levels;
  }

  /** The compaction policy, with all its parameters. */
  policy(): Required<PolicyOptions> {
    const { core, keyspace } = this.scope;
    return JSON.parse(core.engine.call((store) => store.policy(keyspace)));
  }

  /** Gives the keyspace another compaction policy; the next compactions move the tree towards it. */
  setPolicy(policy: Policy): void {
    const { core, keyspace } = this.scope;
    core.engine.call((store) => store.set_policy(keyspace, packPolicy(policy)));
    core.engine.askTurn();
  }

  /** About how many bytes of tables hold the keys of a range; what is in memory does not count. */
  approximateSize(range: RangeOptions = {}): number {
    const { core, keyspace } = this.scope;
    return core.engine.call((store) => store.approximate_size(keyspace, packRange(range)));
  }

  /** Merges what lies in a range into one run, without what no reader can see any more. */
  compactRange(range: RangeOptions = {}): void {
    const { core, keyspace } = this.scope;
    core.engine.call((store) => store.compact_range(keyspace, packRange(range)));
    core.engine.askTurn();
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
    const { core, snapshot } = scope;
    forgotten.register(this, () => forgot(core, snapshot), this);
  }

  /** The same moment in another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(keyspace: Keyspace<KE, VE>): Reader<KE, VE> {
    return new Reader({ ...keyspace.scope, snapshot: this.scope.snapshot, of: this });
  }

  /** Lets the store forget that moment. */
  release(): void {
    const { core, snapshot } = this.scope;
    forgotten.unregister(this);
    core.engine.call((store) => store.release(snapshot));
  }

  /** Releases, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.release();
  }
}

function forgot({ engine, listeners, name }: Core, snapshot: number): void {
  if (engine.closed) return;
  engine.call((store) => store.release(snapshot));
  listeners.forgot(name);
}

/** An open store; its own calls are about its default keyspace. */
export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Keyspace<K, V>
  implements Disposable
{
  readonly #store: Defaults<K, V>;
  /** The numbers of the keyspaces that were opened. */
  readonly #opened: Map<string, number> = new Map();
  #nextKeyspace = 1;
  #nextSnapshot = 1;

  /** @internal */
  constructor(name: string, engine: Engine, defaults: Defaults<K, V>) {
    const core = new Core(name, engine);
    super(
      name,
      { core, keyspace: 0, snapshot: 0, of: undefined, ...defaults },
      defaults.durability,
    );
    this.#store = defaults;
  }

  /** The keyspace of this name. */
  keyspace<KE extends Encoding = K, VE extends Encoding = V>(
    name: string,
    options: KeyspaceOptions<KE, VE> = {},
  ): Keyspace<KE, VE> {
    checkKeyspaceName(name);
    const { create = true, policy } = options;
    const encodings = toEncodings<KE, VE>(options, this.#store);
    let keyspace = this.#opened.get(name);
    if (keyspace === undefined || policy !== undefined) {
      const number = keyspace ?? this.#nextKeyspace++;
      const packed = policy === undefined ? undefined : packPolicy(policy);
      this.scope.core.engine.call((store) => store.keyspace(number, name, create, packed));
      this.#opened.set(name, number);
      keyspace = number;
    }
    return new Keyspace(name, { ...this.scope, ...encodings, keyspace }, this.#store.durability);
  }

  /** The names of all keyspaces. */
  keyspaces(): string[] {
    const names = this.scope.core.engine.call((store) => store.keyspaces());
    return (JSON.parse(names) as [number, string][]).map(([, name]) => name);
  }

  /** Removes a keyspace with all it holds; answers whether there was one. */
  dropKeyspace(name: string): boolean {
    checkKeyspaceName(name);
    this.#opened.delete(name);
    const { engine } = this.scope.core;
    const dropped = engine.call((store) => store.drop_keyspace(name));
    engine.askTurn();
    return dropped;
  }

  /** The store as it is now. Release it when done. */
  snapshot(): Snapshot<K, V> {
    const snapshot = this.#nextSnapshot++;
    this.scope.core.engine.call((store) => store.snapshot(snapshot));
    return new Snapshot({ ...this.scope, snapshot });
  }

  /** Puts every earlier write on the medium. */
  sync(): void {
    this.scope.core.engine.sync();
  }

  /** Writes what is in memory to tables, and puts it on the medium. */
  flush(): void {
    const { engine } = this.scope.core;
    engine.call((store) => store.flush());
    engine.askTurn();
  }

  /** The store's shape, room and counters. */
  stats(): Stats {
    return parse(this.scope.core.engine.call((store) => store.stats())) as Stats;
  }

  /** Reads and verifies everything stored, and reports what is damaged. */
  check(): CheckReport {
    return parse(this.scope.core.engine.call((store) => store.check())) as CheckReport;
  }

  /** What the engine does, from the first step on, until the store is closed. */
  events(options: WaitOptions = {}): AsyncGenerator<Event, void, undefined> {
    return events(this.scope.core.listeners, options);
  }

  /** Copies the store, as it is now, to another name on this origin, which no store may have. */
  async checkpoint(name: string, options: { timeout?: number | undefined } = {}): Promise<void> {
    await told(() => checkpoint(this.scope.core.engine, ask(name, options.timeout)));
  }

  /** The store, as it is now, as a single file; read it to its end, or cancel it. */
  async export(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { engine } = this.scope.core;
    const { blob, file } = await told(() => exportFile(engine));
    return exportStream(blob, () => {
      if (file !== undefined) endExport(engine, file).catch(() => undefined);
    });
  }

  /** Syncs, closes the store, and lets others open it. */
  close(): void {
    const { engine, listeners } = this.scope.core;
    const closed = new ClosedError("the store is closed");
    try {
      engine.close(closed);
    } finally {
      listeners.end(closed);
    }
  }

  /** Closes, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Opens the store of that name in this worker, which alone has it until it closes it. */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: StoreOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, options);
  const defaults = toDefaults(options);
  if (request.storage === "opfs") checkWorker();
  const { signal } = options;
  const opening = told(() => Engine.open(request));
  try {
    return new Db(name, await abortable(signal, () => opening), defaults);
  } catch (error) {
    // One that opens although nobody waits any more is closed again.
    if (signal?.aborted) void opening.then((engine) => engine.close(toError(error)));
    throw error;
  }
}

/**
 * Makes the store of that name, which must not be there yet, of a file that `export` or a native
 * program wrote. If it fails, nothing is left of it.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<StoreOptions, "signal" | "timeout" | "wasm"> = {},
): Promise<void> {
  const request = toRequest(name, options);
  checkWorker();
  await told(async () => send(source, await Import.begin(request), options.signal));
}

function checkWorker(): void {
  checkPrivateFiles();
  if (!("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    throw unavailable("this is no dedicated worker");
  }
}

/** What `body` promises; what it throws becomes an error of this package. */
async function told<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw toError(error);
  }
}
