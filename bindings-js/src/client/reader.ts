/** Reads from one keyspace, in its current state or in a snapshot. */

import type { Bytes, Decoded, Encoding, Entry, RangeOptions } from "../api/data.ts";
import type { Encodings, EntriesOptions, ReadOptions, WaitOptions } from "../api/options.ts";
import type { ReaderOf } from "../api/store.ts";
import type { Trace } from "../api/trace.ts";
import { encodeKey } from "../codec/bytes.ts";
import { fromJson } from "../codec/json.ts";
import { checked, ENCODINGS, ENTRIES, RANGE, READ, REVERSE, WAIT } from "../codec/options.ts";
import { pairs, type Projection, single } from "../codec/projection.ts";
import type { Arguments, Method, Returned } from "../codec/protocol.ts";
import { toEncodings, toKeys, toScan } from "../codec/requests.ts";
import { check } from "../codec/validate.ts";
import { abortable } from "../shared/abort.ts";
import { count, iterate } from "./scan.ts";
import type { Session } from "./session.ts";

/**
 * What a reader reads, and how. @internal
 */
export interface Scope<K extends Encoding, V extends Encoding> {
  session: Session;
  /** The keyspace's number. */
  keyspace: number;
  /** The snapshot's number; 0 to read the current state. */
  snapshot: number;
  keyEncoding: K;
  valueEncoding: V;
  /** Rejects with the reason if the keyspace could not be opened. */
  opened: Promise<unknown> | undefined;
  /** The snapshot, which must not be garbage-collected while this is used. */
  owner: object | undefined;
}

export class Reader<K extends Encoding = "utf8", V extends Encoding = "utf8"> implements ReaderOf<
  "async",
  K,
  V
> {
  /** @internal */
  readonly scope: Scope<K, V>;

  /** @internal */
  constructor(scope: Scope<K, V>) {
    this.scope = scope;
  }

  async get<E extends Encoding = V>(
    key: Bytes,
    options: ReadOptions<E> & WaitOptions = {},
  ): Promise<Decoded<E> | undefined> {
    const [value] = await this.getMany([key], options);
    return value;
  }

  async getMany<E extends Encoding = V>(
    keys: readonly Bytes[],
    options: ReadOptions<E> & WaitOptions = {},
  ): Promise<(Decoded<E> | undefined)[]> {
    check("keys", keys, Array.isArray(keys), "an array");
    const { session, keyspace, snapshot } = this.scope;
    const { valueEncoding } = toEncodings<K, E>(options, this.scope);
    const lookup = () => session.lookup(keyspace, snapshot, keys, valueEncoding);
    return await this.run(options, lookup, READ);
  }

  async has(key: Bytes, options: WaitOptions = {}): Promise<boolean> {
    const [found = false] = await this.hasMany([key], options);
    return found;
  }

  async hasMany(keys: readonly Bytes[], options: WaitOptions = {}): Promise<boolean[]> {
    const { keyspace, snapshot } = this.scope;
    const found = await this.invoke(options, "has_many", keyspace, snapshot, toKeys(keys));
    return Array.from(found, Boolean);
  }

  async first<KE extends Encoding = K, VE extends Encoding = V>(
    options: RangeOptions & Encodings<KE, VE> & WaitOptions = {},
  ): Promise<Entry<KE, VE> | undefined> {
    return await this.#outermost(options, false);
  }

  async last<KE extends Encoding = K, VE extends Encoding = V>(
    options: RangeOptions & Encodings<KE, VE> & WaitOptions = {},
  ): Promise<Entry<KE, VE> | undefined> {
    return await this.#outermost(options, true);
  }

  async trace(key: Bytes, options: WaitOptions = {}): Promise<Trace> {
    const { keyspace, snapshot } = this.scope;
    return fromJson(await this.invoke(options, "trace", keyspace, snapshot, encodeKey(key)));
  }

  async traceScan(
    options: RangeOptions & WaitOptions & { reverse?: boolean | undefined } = {},
  ): Promise<Trace> {
    const { session } = this.scope;
    const { keyspace, snapshot, range, reverse } = toScan(this.scope, options);
    const seek = () => session.invoke("trace_scan", keyspace, snapshot, range, reverse);
    return fromJson(await this.run(options, seek, RANGE, REVERSE));
  }

  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> & WaitOptions = {},
  ): AsyncGenerator<Entry<KE, VE>, void, undefined> {
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(options, this.scope);
    return this.#iterate(options, pairs(keyEncoding, valueEncoding));
  }

  keys<KE extends Encoding = K>(
    options: EntriesOptions<KE, V> & WaitOptions = {},
  ): AsyncGenerator<Decoded<KE>, void, undefined> {
    const { keyEncoding } = toEncodings<KE, V>(options, this.scope);
    return this.#iterate(options, single("keys", keyEncoding));
  }

  values<VE extends Encoding = V>(
    options: EntriesOptions<K, VE> & WaitOptions = {},
  ): AsyncGenerator<Decoded<VE>, void, undefined> {
    const { valueEncoding } = toEncodings<K, VE>(options, this.scope);
    return this.#iterate(options, single("values", valueEncoding));
  }

  async count(options: RangeOptions & WaitOptions = {}): Promise<number> {
    const request = toScan(this.scope, options);
    const { session } = this.scope;
    return await this.run(options, () => count(session, request, options.signal), RANGE);
  }

  /**
   * Awaits what `start` returns, unless the signal is aborted first. Throws if there are options other than
   * `signal` and those of the lists. @internal
   */
  run<T>(options: WaitOptions, start: () => Promise<T>, ...lists: object[]): Promise<T> {
    const { signal } = checked(options, ...lists, WAIT);
    const { opened } = this.scope;
    const running = abortable(signal, start);
    if (opened === undefined) return running;
    // If the keyspace could not be opened, that is the error, and not that it is closed.
    return running.catch(async (error: unknown) => {
      await opened;
      throw error;
    });
  }

  /**
   * Calls a method of the engine's store. @internal
   */
  invoke<M extends Method>(options: WaitOptions, method: M, ...args: Arguments<M>): Returned<M> {
    return this.run(options, () => this.scope.session.invoke(method, ...args));
  }

  async #outermost<KE extends Encoding, VE extends Encoding>(
    options: RangeOptions & Encodings<KE, VE> & WaitOptions,
    reverse: boolean,
  ): Promise<Entry<KE, VE> | undefined> {
    const range = checked(options, RANGE, ENCODINGS, WAIT);
    for await (const entry of this.entries({ ...range, reverse, limit: 1 })) return entry;
    return undefined;
  }

  #iterate<T>(
    options: EntriesOptions<Encoding, Encoding> & WaitOptions,
    projection: Projection<T>,
  ): AsyncGenerator<T, void, undefined> {
    const request = toScan(this.scope, checked(options, RANGE, ENTRIES, WAIT));
    const { signal } = options;
    return iterate(this.scope.session, request, projection, (start) => this.run({ signal }, start));
  }
}
