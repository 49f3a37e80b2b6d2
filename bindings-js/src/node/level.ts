/**
 * A store as `terrane-level` uses it: reads and writes run in Node's pool of threads, without a thread of their own.
 *
 * 1. Some calls run at once in the calling thread, which takes less time than handing them over: a get whose value is
 *    in memory, a small page of a scan that is in memory, and the first write of a turn of the event loop, if it is
 *    small, buffered and waits for nothing. After some of them in a row one is handed to the pool, so that timers and
 *    sockets get a turn.
 * 2. Other gets of one turn become one lookup. It starts before a write that follows them, since a get shows the store
 *    as it was at its call.
 * 3. Other writes of one turn become one batch. Batches and clears run one after the other, so that writes keep their
 *    order; those that are added meanwhile join the next batch.
 * 4. A scan is read in pages (level-scan.ts).
 */

import type { Store } from "../../wasm/terrane.js";
import { append } from "../client/outbox.ts";
import {
  ClosedError,
  EngineError,
  InvalidArgumentError,
  type TerraneError,
} from "../api/errors.ts";
import { Encoder } from "../codec/encoder.ts";
import { toDurability } from "../codec/requests.ts";
import { encodeRange } from "../codec/span.ts";
import type { AddonStore } from "./addon.ts";
import { checkNotOpen, OpenHere } from "../shared/open-here.ts";
import { destroyFiles } from "./copies.ts";
import { Gets, UNREAD } from "./gets.ts";
import {
  type Content,
  decodeLeniently,
  decodeList,
  decodeText,
  type LevelRange,
  wellFormed,
  wellFormedRange,
} from "./level-codec.ts";
import { LevelScan, type ScanRequest } from "./level-scan.ts";
import { Module, thrown } from "./module.ts";
import { type NodeOptions, toNodeRequest } from "./options.ts";
import { openStore } from "./platform.ts";
import { toStoreRequest } from "./store-request.ts";

export { LevelScan, type ScanRequest };

/** The size in bytes at which a lookup accepts no more keys, and a batch no more writes. */
const GROUP_BYTES = 1 << 20;

/** The calls in a row that may run at once, and the size in bytes of the largest batch that may. */
const AT_ONCE_MAX = 64;
const AT_ONCE_BYTES = 16 << 10;

const RESOLVED = Promise.resolve();

/** A write of a batch. */
export interface LevelOperation {
  type: "put" | "del";
  key: Content;
  value?: Content;
}

/** Calls that run together. */
class Group<T> {
  /** The kind of its calls: those of one kind can join. */
  readonly kind: string;
  readonly encoder: Encoder;
  /** The number of keys. */
  size = 0;
  readonly done: Promise<T>;
  readonly #run: (bytes: Uint8Array) => Promise<T>;
  readonly #settle: (done: Promise<T>) => void;

  constructor(
    kind: string,
    run: (bytes: Uint8Array) => Promise<T>,
    encoder: Encoder = new Encoder(),
  ) {
    this.kind = kind;
    this.#run = run;
    this.encoder = encoder;
    let settle: ((done: Promise<T>) => void) | undefined;
    this.done = new Promise((resolve) => (settle = resolve));
    this.#settle = settle!;
    // Nobody waits for a group whose first call was refused.
    this.done.catch(() => undefined);
  }

  /** Runs the calls; resolves once they have ended, in whichever way. */
  async run(): Promise<void> {
    const done = this.#run(this.encoder.bytes());
    this.#settle(done);
    await done.catch(() => undefined);
  }

  /** Whether a call of this kind can join. */
  accepts(kind: string): boolean {
    return this.kind === kind && this.encoder.length < GROUP_BYTES;
  }
}

/** An open store. */
export class LevelStore {
  readonly module: Module;
  readonly #store: AddonStore & Store;
  #failure: TerraneError | undefined;
  readonly #gets: Gets;
  #lookup: Group<unknown[]> | undefined;
  /** Batches and clears that have yet to run. */
  readonly #batches: Group<unknown>[] = [];
  #writing: Promise<void> | undefined;
  #nextSnapshot = 1;
  /** The number of calls that ran at once since one went to the pool. */
  #atOnce = 0;
  /** Whether a write of this turn ran at once. */
  #hasWritten = false;
  /** The encoder of such a write, for the next. */
  #spare: Encoder | undefined;
  /** Undefined for a store in memory. */
  readonly #here: OpenHere | undefined;

  private constructor(module: Module, store: Store, path: string | undefined) {
    this.module = module;
    this.#store = store as AddonStore & Store;
    this.#gets = new Gets(this);
    if (path !== undefined) this.#here = new OpenHere(path);
  }

  /** Opens the store at a path, which this process shares. */
  static async open(path: string, options: NodeOptions): Promise<LevelStore> {
    const request = toNodeRequest(path, options);
    toDurability(options, "buffered");
    const { module, store, files } = await openStore(request, Module.load());
    return new LevelStore(module, store, files?.path);
  }

  /** Calls the store. */
  call<T>(body: (store: AddonStore & Store) => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return this.module.call(() => body(this.#store));
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Calls the store, which answers by a promise. */
  later<T>(body: (store: AddonStore & Store) => Promise<T>): Promise<T> {
    // Without a promise of its own for each step: a get is made of little else.
    try {
      return this.call(body).catch(this.#rejected);
    } catch (error) {
      return Promise.reject<T>(error);
    }
  }

  /** Whether something that takes as long as `calls` calls may run in this thread, which has others to serve. */
  mayRunAtOnce(calls = 1): boolean {
    this.#atOnce += calls;
    if (this.#atOnce < AT_ONCE_MAX) return true;
    this.#atOnce = 0;
    return false;
  }

  /** Returns the value of a key at once. */
  getSync(key: Content, encoding: "utf8" | "binary", snapshot = 0): Content | undefined {
    const text = wellFormed(key);
    try {
      return this.#gets.get(0, snapshot, text, encoding);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      // The value is not UTF-8. Or the key is refused, and then this call fails as well.
      return decodeLeniently(this.#gets.get(0, snapshot, text, "binary"), encoding);
    }
  }

  /** Returns the value of a key, or a promise of it. */
  get(
    key: Content,
    encoding: "utf8" | "binary",
    snapshot = 0,
  ): Promise<unknown> | Content | undefined {
    try {
      if (!this.mayRunAtOnce()) return this.#join(key, encoding, snapshot);
      const value = this.#gets.tryGet(0, snapshot, wellFormed(key));
      if (value === UNREAD) return this.#join(key, encoding, snapshot);
      return encoding === "utf8" ? decodeText(value) : value?.slice();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Returns the values of keys. */
  async getMany(
    keys: readonly Content[],
    encoding: "utf8" | "binary",
    snapshot = 0,
  ): Promise<unknown[]> {
    return this.#getMany(encodeKeys(keys), encoding, snapshot);
  }

  /** Returns for each key whether it has a value. */
  async hasMany(keys: readonly Content[], snapshot = 0): Promise<boolean[]> {
    const bytes = encodeKeys(keys);
    return Array.from(await this.later((store) => store.has_many_apart(snapshot, bytes)), Boolean);
  }

  /** Writes all operations or none; returns a promise unless that is done. */
  write(operations: readonly LevelOperation[], sync: boolean): Promise<unknown> | undefined {
    try {
      return this.#write(operations, sync);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Deletes the keys of a range, the first `limit` or the last; makes that durable if `sync`. */
  async clear(range: LevelRange, reverse: boolean, limit: number, sync: boolean): Promise<void> {
    const bytes = encodeRange(wellFormedRange(range), "binary");
    this.#startLookup();
    await this.#add(
      new Group<unknown>("clear", () =>
        this.later((store) => store.clear_apart(bytes, reverse, limit, sync)),
      ),
    );
  }

  /** Takes a snapshot; returns its number. */
  snapshot(): number {
    const snapshot = this.#nextSnapshot++;
    this.call((store) => store.snapshot(snapshot));
    return snapshot;
  }

  /** Releases a snapshot. */
  release(snapshot: number): void {
    // Closing the store has released its snapshots.
    if (this.#failure === undefined) this.call((store) => store.release(snapshot));
  }

  /** Starts a scan, which shows the store as it is now. */
  scan(request: ScanRequest): LevelScan {
    return new LevelScan(this, request);
  }

  /** Estimates the bytes that a range takes in tables. */
  async approximateSize(range: LevelRange): Promise<number> {
    const bytes = encodeRange(wellFormedRange(range), "binary");
    return this.call((store) => store.approximate_size(0, bytes));
  }

  /** Compacts a range. */
  async compactRange(range: LevelRange): Promise<void> {
    const bytes = encodeRange(wellFormedRange(range), "binary");
    await this.later((store) => store.compact_range_apart(bytes));
  }

  /** Closes this opening after the writes that were added; the last one of a store closes it. */
  async close(): Promise<void> {
    this.#here?.end();
    await this.#writing;
    const closing = this.later((store) => store.close_apart());
    this.#failure ??= new ClosedError("the store is closed");
    await closing;
  }

  async #getMany(
    keys: Uint8Array,
    encoding: "utf8" | "binary",
    snapshot: number,
  ): Promise<unknown[]> {
    const list = await this.later((store) => store.get_many_apart(snapshot, keys));
    return decodeList(list, encoding);
  }

  /** Adds a get to the lookup of this turn. */
  async #join(key: Content, encoding: "utf8" | "binary", snapshot: number): Promise<unknown> {
    const kind = `${encoding} ${snapshot}`;
    let group = this.#lookup;
    if (group?.accepts(kind) !== true) {
      this.#startLookup();
      const opened = new Group(kind, (keys) => this.#getMany(keys, encoding, snapshot));
      group = this.#lookup = opened;
      queueMicrotask(() => {
        if (this.#lookup === opened) this.#startLookup();
      });
    }
    append(group.encoder, (encoder) => encoder.key(wellFormed(key)));
    const at = group.size++;
    return (await group.done)[at];
  }

  /** Starts the lookup of this turn, if there is one: it shows the store as it is now. */
  #startLookup(): void {
    const lookup = this.#lookup;
    this.#lookup = undefined;
    void lookup?.run();
  }

  #write(operations: readonly LevelOperation[], sync: boolean): Promise<unknown> | undefined {
    this.#startLookup();
    const fill = (encoder: Encoder) => {
      for (const { type, key, value } of operations) {
        if (type === "del") encoder.delete(0, wellFormed(key));
        else encoder.put(0, wellFormed(key), wellFormed(value!));
      }
    };
    const kind = sync ? "sync" : "buffered";
    const last = this.#batches.at(-1);
    if (last?.accepts(kind) === true) {
      append(last.encoder, fill);
      return last.done;
    }
    const encoder = this.#spare ?? new Encoder();
    this.#spare = undefined;
    append(encoder, fill);
    if (!sync && this.#isWritten(encoder)) {
      encoder.truncate(0);
      this.#spare = encoder;
      return undefined;
    }
    const write = (batch: Uint8Array) => this.later((store) => store.write_apart(batch, sync));
    return this.#add(new Group<unknown>(kind, write, encoder));
  }

  /** Adds a batch or a clear behind the others. */
  #add(group: Group<unknown>): Promise<unknown> {
    this.#batches.push(group);
    this.#writing ??= this.#writeAll();
    return group.done;
  }

  /** Writes the first batch of a turn at once, if it is small and waits for nothing; returns whether it did. */
  #isWritten(encoder: Encoder): boolean {
    if (this.#writing !== undefined || this.#hasWritten) return false;
    if (encoder.length > AT_ONCE_BYTES || !this.mayRunAtOnce()) return false;
    if (this.call((store) => store.try_write(encoder.bytes())) === null) return false;
    this.#hasWritten = true;
    void RESOLVED.then(this.#endTurn);
    return true;
  }

  readonly #endTurn = (): void => {
    this.#hasWritten = false;
  };

  async #writeAll(): Promise<void> {
    // The calls of this turn join.
    await undefined;
    for (let group = this.#batches.shift(); group !== undefined; group = this.#batches.shift())
      await group.run();
    this.#writing = undefined;
  }

  readonly #rejected = (error: unknown): never => {
    throw this.#failed(thrown(error));
  };

  /** Accepts no more calls once the engine has crashed. */
  #failed(error: unknown): unknown {
    if (error instanceof EngineError) this.#failure ??= error;
    return error;
  }
}

/** Deletes the store at a path, if there is one. */
export async function destroy(path: string): Promise<void> {
  const request = toStoreRequest(path);
  checkNotOpen(request.name);
  await destroyFiles(request);
}

function encodeKeys(keys: readonly Content[]): Uint8Array {
  const encoder = new Encoder();
  for (const key of keys) encoder.key(wellFormed(key));
  return encoder.bytes();
}
