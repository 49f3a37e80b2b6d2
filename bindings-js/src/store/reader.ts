/** Reads from one keyspace, in its current state or in a snapshot. */

import type {
  Bytes,
  Decoded,
  Encodable,
  Encoding,
  Entry,
  RangeFields,
  RangeOptions,
  Row,
  Rows,
  Versioned,
} from "../api/data.ts";
import type {
  CursorOptions,
  Encodings,
  EntriesOptions,
  IterationOptions,
  KeyOptions,
  ReadOptions,
  WaitOptions,
} from "../api/options.ts";
import type { CallOptions, CursorOf, Iteration, Mode, ReaderOf, Result } from "../api/store.ts";
import type { Trace } from "../api/trace.ts";
import { encodeKey } from "../codec/bytes.ts";
import { decodeVersioned } from "../codec/conditions.ts";
import { toBytes } from "../codec/encodings.ts";
import { checked, ENCODINGS, ITERATION, KEY, RANGE, REVERSE, ROWS } from "../codec/options.ts";
import { pairs, type Projection, projectionOf, single } from "../codec/projection.ts";
import type { Arguments, JsonMethod, ScanRequest } from "../codec/protocol.ts";
import { toEncoding, toEncodings, toKeys, toScan } from "../codec/requests.ts";
import { check } from "../codec/validate.ts";
import { Cursor } from "./cursor.ts";
import type { Later, Port } from "./port.ts";
import type { Reads } from "./reads.ts";

/**
 * The state that a reader reads, and its encodings. @internal
 */
export interface Scope<M extends Mode, K extends Encoding, V extends Encoding> {
  port: Port<M>;
  /** The keyspace's number. */
  keyspace: number;
  /** The snapshot's number; 0 to read the current state. */
  snapshot: number;
  keyEncoding: K;
  valueEncoding: V;
  /** Rejects with the reason if the keyspace could not be opened. */
  opened: Promise<unknown> | undefined;
  /** The reads of a query that is followed. */
  reads: Reads | undefined;
  /** The snapshot, which must not be garbage-collected while this is used. */
  owner: object | undefined;
}

const NONE = {};
const none = (): object => NONE;

export class Reader<
  M extends Mode,
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> implements ReaderOf<M, K, V> {
  /** @internal */
  readonly scope: Scope<M, K, V>;

  /** @internal */
  constructor(scope: Scope<M, K, V>) {
    this.scope = scope;
  }

  get<E extends Encoding = V, KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, Decoded<E> | undefined> {
    const { port, keyspace, snapshot, reads } = this.scope;
    return this.call(options, [ENCODINGS], (given: ReadOptions<E> & KeyOptions<KE>) => {
      const bytes = this.key(key, given);
      if (reads !== undefined) this.#note([bytes]);
      return port.get(keyspace, snapshot, bytes, this.valueEncoding(given));
    });
  }

  getVersioned<E extends Encoding = V, KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, Versioned<E> | undefined> {
    const { port, keyspace, snapshot } = this.scope;
    return this.call(options, [ENCODINGS], (given: ReadOptions<E> & KeyOptions<KE>) => {
      const encoding = this.valueEncoding(given);
      const bytes = encodeKey(this.key(key, given));
      this.#note([bytes]);
      return port.map(port.invoke("get_versioned", keyspace, snapshot, bytes), (found) =>
        decodeVersioned(found, encoding, () => bytes),
      );
    });
  }

  getMany<E extends Encoding = V, KE extends Encoding = K>(
    keys: readonly Encodable<KE>[],
    options?: CallOptions<M, ReadOptions<E> & KeyOptions<KE>>,
  ): Result<M, (Decoded<E> | undefined)[]> {
    const { port, keyspace, snapshot } = this.scope;
    return this.call(options, [ENCODINGS], (given: ReadOptions<E> & KeyOptions<KE>) => {
      const all = this.#keys(keys, given);
      return port.getMany(keyspace, snapshot, all, this.valueEncoding(given));
    });
  }

  has<KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, KeyOptions<KE>>,
  ): Result<M, boolean> {
    return this.scope.port.map(this.hasMany([key], options), ([found = false]) => found);
  }

  hasMany<KE extends Encoding = K>(
    keys: readonly Encodable<KE>[],
    options?: CallOptions<M, KeyOptions<KE>>,
  ): Result<M, boolean[]> {
    const { port, keyspace, snapshot } = this.scope;
    return this.call(options, [KEY], (given: KeyOptions<KE>) => {
      const all = this.#keys(keys, given);
      const found = port.invoke("has_many", keyspace, snapshot, toKeys(all));
      return port.map(found, (found) => Array.from(found as Uint8Array, Boolean));
    });
  }

  first<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, RangeOptions<KE> & Encodings<KE, VE>>,
  ): Result<M, Entry<KE, VE> | undefined> {
    return this.#outermost(options, false);
  }

  last<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, RangeOptions<KE> & Encodings<KE, VE>>,
  ): Result<M, Entry<KE, VE> | undefined> {
    return this.#outermost(options, true);
  }

  trace(key: Encodable<K>, options?: CallOptions<M>): Result<M, Trace> {
    const { port, keyspace, snapshot } = this.scope;
    return this.call(options, [], () =>
      this.#parsed<Trace>(port.invoke("trace", keyspace, snapshot, encodeKey(this.key(key, {})))),
    );
  }

  traceScan(
    options?: CallOptions<M, RangeOptions<K> & { reverse?: boolean | undefined }>,
  ): Result<M, Trace> {
    const { port } = this.scope;
    return this.call(options, [RANGE, REVERSE], (given) => {
      const { keyspace, snapshot, range, reverse } = toScan(this.scope, given);
      return this.#parsed<Trace>(port.invoke("trace_scan", keyspace, snapshot, range, reverse));
    });
  }

  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options?: CallOptions<M, EntriesOptions<KE, VE>>,
  ): Iteration<M, Entry<KE, VE>> {
    return this.#iterate(options, (given: EntriesOptions<KE, VE>) => {
      const { keyEncoding, valueEncoding } = toEncodings(given, this.scope);
      return pairs(keyEncoding, valueEncoding);
    });
  }

  keys<KE extends Encoding = K>(
    options?: CallOptions<M, EntriesOptions<KE, V>>,
  ): Iteration<M, Decoded<KE>> {
    return this.#iterate(options, (given: EntriesOptions<KE, V>) =>
      single("keys", toEncodings(given, this.scope).keyEncoding),
    );
  }

  values<VE extends Encoding = V>(
    options?: CallOptions<M, EntriesOptions<K, VE>>,
  ): Iteration<M, Decoded<VE>> {
    return this.#iterate(options, (given: EntriesOptions<K, VE>) =>
      single("values", toEncodings(given, this.scope).valueEncoding),
    );
  }

  cursor<KE extends Encoding = K, VE extends Encoding = V, R extends Rows = "entries">(
    options: CursorOptions<KE, VE, R> = {},
  ): CursorOf<M, Row<R, KE, VE>, KE> {
    const given = checked(options, RANGE, ENCODINGS, ROWS);
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(given, this.scope);
    const projection = projectionOf<R, KE, VE>(given.rows, keyEncoding, valueEncoding);
    const held = this.scope.port.cursor(this.#scan(given));
    return new Cursor(this, held, projection, keyEncoding);
  }

  count(options?: CallOptions<M, RangeOptions<K>>): Result<M, number> {
    return this.call(options, [RANGE], (given) => this.scope.port.count(this.#scan(given), given));
  }

  feedCursor(options?: CallOptions<M>): Result<M, string> {
    const { port, snapshot } = this.scope;
    return this.call(options, [], () => port.invoke("feed_cursor", snapshot));
  }

  /**
   * Runs a call. Fails if there are options other than those of the lists and those of every call.
   * @internal
   */
  call<O extends object, T>(
    options: O | undefined,
    lists: object[],
    start: (options: O & WaitOptions) => Result<M, T>,
  ): Result<M, T> {
    const { port, opened } = this.scope;
    // Most calls have none: they cost a get a tenth of its time.
    if (options === undefined) return port.run(opened, none as () => O & WaitOptions, start);
    return port.run(opened, () => checked<O & WaitOptions>(options, ...lists, port.waits), start);
  }

  /** Calls a method of the engine's store that returns JSON. @internal */
  report<T, N extends JsonMethod = JsonMethod>(
    options: CallOptions<M> | undefined,
    method: N,
    ...args: Arguments<N>
  ): Result<M, T> {
    const { port } = this.scope;
    return this.call(options, [], () =>
      this.#parsed<T>(port.invoke(method, ...args) as Result<M, string>),
    );
  }

  /** Returns a key of a call as bytes. @internal */
  key<KE extends Encoding>(key: Encodable<KE>, given: KeyOptions<KE>): Bytes {
    return toBytes("key", key, this.#keyEncoding(given));
  }

  /** Returns the encoding of a call's values. @internal */
  valueEncoding<E extends Encoding>({ valueEncoding }: ReadOptions<E>): E {
    const encoding = valueEncoding ?? (this.scope.valueEncoding as Encoding as E);
    return toEncoding("valueEncoding", encoding);
  }

  #keyEncoding<E extends Encoding>({ keyEncoding }: KeyOptions<E>): E {
    const encoding = keyEncoding ?? (this.scope.keyEncoding as Encoding as E);
    return toEncoding("keyEncoding", encoding);
  }

  /** Returns the keys of a read as bytes. */
  #keys<KE extends Encoding>(
    keys: readonly Encodable<KE>[],
    given: KeyOptions<KE>,
  ): readonly Bytes[] {
    check("keys", keys, Array.isArray(keys), "an array");
    const encoding = this.#keyEncoding(given);
    const all = keys.map((key) => toBytes("key", key, encoding));
    this.#note(all);
    return all;
  }

  #parsed<T>(result: Result<M, string>): Result<M, T> {
    const { port } = this.scope;
    return port.map<string, T>(result, (json) =>
      port.map<Later, T>(port.later(), ({ fromJson }) => fromJson<T>(json)),
    );
  }

  #outermost<KE extends Encoding, VE extends Encoding>(
    options: CallOptions<M, RangeOptions<KE> & Encodings<KE, VE>> | undefined,
    reverse: boolean,
  ): Result<M, Entry<KE, VE> | undefined> {
    const { port } = this.scope;
    return this.call(options, [RANGE, ENCODINGS], (given: RangeOptions<KE> & Encodings<KE, VE>) => {
      const one = { ...given, reverse, limit: 1 };
      const found = this.entries<KE, VE>(one as CallOptions<M, EntriesOptions<KE, VE>>);
      return port.map(port.collect(found), ([entry]) => entry);
    });
  }

  #iterate<O extends EntriesOptions<Encoding, Encoding>, T>(
    options: (O & WaitOptions) | undefined,
    project: (options: O) => Projection<T>,
  ): Iteration<M, T> {
    const { port, opened } = this.scope;
    const given = checked(
      options === undefined ? ({} as O) : options,
      RANGE,
      ITERATION,
      port.waits,
    );
    const { signal } = given as WaitOptions;
    // `this` keeps its snapshot alive for as long as the iteration runs.
    const run = <R>(start: () => Result<M, R>): Result<M, R> =>
      this.scope.port.run(opened, () => ({ signal }), start);
    return port.iterate(this.#scan(given), project(given), run);
  }

  #scan(options: RangeFields<Encoding> & IterationOptions<Encoding, Encoding>): ScanRequest {
    const request = toScan(this.scope, options);
    this.scope.reads?.add(request.keyspace, request.range);
    return request;
  }

  /** Notes that a query that is followed reads these keys. */
  #note(keys: readonly Bytes[]): void {
    this.scope.reads?.addKeys(this.scope.keyspace, keys);
  }
}
