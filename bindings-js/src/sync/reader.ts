/** Reads from one keyspace, in its current state or in a snapshot. */

import type { Scan } from "../../wasm/terrane.js";
import type { Bytes, Decoded, Encoding, Entry, RangeOptions } from "../api/data.ts";
import type { Encodings, EntriesOptions, ReadOptions } from "../api/options.ts";
import type { ReaderOf } from "../api/store.ts";
import type { Trace } from "../api/trace.ts";
import { ByteList } from "../codec/byte-list.ts";
import { encodeKey } from "../codec/bytes.ts";
import { fromJson } from "../codec/json.ts";
import { checked, ENCODINGS, ENTRIES, RANGE, READ, REVERSE } from "../codec/options.ts";
import {
  FIRST_PAGE_BYTES,
  PAGE_BYTES,
  pairs,
  type Projection,
  single,
} from "../codec/projection.ts";
import { toEncoding, toEncodings, toKeys, toScan } from "../codec/requests.ts";
import type { Engine } from "../engine/engine.ts";
import { started } from "../shared/finalization.ts";
import type { Context } from "./context.ts";

/** The most entries that are counted in one step. */
const COUNT_STEP = 0xffff_ffff;

/**
 * What a reader reads, and how. @internal
 */
export interface Scope<K extends Encoding, V extends Encoding> {
  context: Context;
  /** The keyspace's number. */
  keyspace: number;
  /** The snapshot's number; 0 to read the current state. */
  snapshot: number;
  keyEncoding: K;
  valueEncoding: V;
  /** The snapshot, which must not be garbage-collected while this is used. */
  owner: object | undefined;
}

export class Reader<K extends Encoding = "utf8", V extends Encoding = "utf8"> implements ReaderOf<
  "sync",
  K,
  V
> {
  /** @internal */
  readonly scope: Scope<K, V>;

  /** @internal */
  constructor(scope: Scope<K, V>) {
    this.scope = scope;
  }

  get<E extends Encoding = V>(key: Bytes, options: ReadOptions<E> = {}): Decoded<E> | undefined {
    const { context, keyspace, snapshot } = this.scope;
    return context.get(keyspace, snapshot, key, this.#valueEncoding(checked(options, READ)));
  }

  getMany<E extends Encoding = V>(
    keys: readonly Bytes[],
    options: ReadOptions<E> = {},
  ): (Decoded<E> | undefined)[] {
    const { context, keyspace, snapshot } = this.scope;
    const encoding = this.#valueEncoding(checked(options, READ));
    const bytes = toKeys(keys);
    const values = context.engine.call((store) => store.get_many(keyspace, snapshot, bytes));
    return new ByteList(values).decode(encoding);
  }

  has(key: Bytes): boolean {
    const [found = false] = this.hasMany([key]);
    return found;
  }

  hasMany(keys: readonly Bytes[]): boolean[] {
    const { context, keyspace, snapshot } = this.scope;
    const bytes = toKeys(keys);
    const found = context.engine.call((store) => store.has_many(keyspace, snapshot, bytes));
    return Array.from(found, Boolean);
  }

  first<KE extends Encoding = K, VE extends Encoding = V>(
    options: RangeOptions & Encodings<KE, VE> = {},
  ): Entry<KE, VE> | undefined {
    return this.#outermost(options, false);
  }

  last<KE extends Encoding = K, VE extends Encoding = V>(
    options: RangeOptions & Encodings<KE, VE> = {},
  ): Entry<KE, VE> | undefined {
    return this.#outermost(options, true);
  }

  trace(key: Bytes): Trace {
    const { context, keyspace, snapshot } = this.scope;
    return fromJson(
      context.engine.call((store) => store.trace(keyspace, snapshot, encodeKey(key))),
    );
  }

  traceScan(options: RangeOptions & { reverse?: boolean | undefined } = {}): Trace {
    const { engine } = this.scope.context;
    const request = toScan(this.scope, checked(options, RANGE, REVERSE));
    const { keyspace, snapshot, range, reverse } = request;
    return fromJson(engine.call((store) => store.trace_scan(keyspace, snapshot, range, reverse)));
  }

  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> = {},
  ): Generator<Entry<KE, VE>, void, undefined> {
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(options, this.scope);
    return this.#iterate(options, pairs(keyEncoding, valueEncoding));
  }

  keys<KE extends Encoding = K>(
    options: EntriesOptions<KE, V> = {},
  ): Generator<Decoded<KE>, void, undefined> {
    const { keyEncoding } = toEncodings<KE, V>(options, this.scope);
    return this.#iterate(options, single("keys", keyEncoding));
  }

  values<VE extends Encoding = V>(
    options: EntriesOptions<K, VE> = {},
  ): Generator<Decoded<VE>, void, undefined> {
    return this.#iterate(options, single("values", this.#valueEncoding(options)));
  }

  count(options: RangeOptions = {}): number {
    const { engine } = this.scope.context;
    const scan = this.#scan(checked(options, RANGE));
    try {
      let total = 0;
      while (!scan.done) total += engine.call(() => scan.count(COUNT_STEP));
      return total;
    } finally {
      endScan(engine, scan);
    }
  }

  #outermost<KE extends Encoding, VE extends Encoding>(
    options: RangeOptions & Encodings<KE, VE>,
    reverse: boolean,
  ): Entry<KE, VE> | undefined {
    const range = checked(options, RANGE, ENCODINGS);
    const [entry] = this.entries({ ...range, reverse, limit: 1 });
    return entry;
  }

  #iterate<T>(
    options: EntriesOptions<Encoding, Encoding>,
    { keys, values, decode }: Projection<T>,
  ): Generator<T, void, undefined> {
    const { engine } = this.scope.context;
    const scan = this.#scan(checked(options, RANGE, ENTRIES));
    // If the iteration is never finished, wasm-bindgen's finalization registry frees the scan.
    return started(
      (function* () {
        try {
          yield undefined as never;
          let bytes = FIRST_PAGE_BYTES;
          while (!scan.done) {
            yield* decode(engine.call(() => scan.page(bytes, keys, values)));
            bytes = PAGE_BYTES;
          }
        } finally {
          endScan(engine, scan);
        }
      })(),
    );
  }

  #scan(options: EntriesOptions<Encoding, Encoding>): Scan {
    const { keyspace, snapshot, range, reverse, limit } = toScan(this.scope, options);
    return this.scope.context.engine.call((store) =>
      store.scan(keyspace, snapshot, range, reverse, limit),
    );
  }

  #valueEncoding<E extends Encoding>({ valueEncoding }: ReadOptions<E>): E {
    return toEncoding(
      "valueEncoding",
      valueEncoding ?? (this.scope.valueEncoding as Encoding as E),
    );
  }
}

function endScan(engine: Engine, scan: Scan): void {
  engine.module.release(scan);
  // Files that only the scan needed can be removed.
  engine.scheduleTurn();
}
