/** Reading, in one keyspace: now, or as a snapshot shows it. */

import type { Scan } from "../../wasm/terrane.js";
import { check } from "../argument.ts";
import { type Engine, release } from "../engine.ts";
import { entered } from "../forgotten.ts";
import {
  type EntriesOptions,
  type ReadOptions,
  toEncoding,
  toEncodings,
  toScan,
} from "../options.ts";
import {
  type Bytes,
  type Decoded,
  type Encoding,
  Packer,
  packKey,
  type RangeOptions,
} from "../packing.ts";
import { type Entry, FIRST_PAGE_BYTES, PAGE_BYTES, pairs, type Part, single } from "../parts.ts";
import { parse } from "../stats.ts";
import { Strings } from "../strings.ts";
import type { Trace } from "../trace.ts";
import type { Core } from "./core.ts";

/** The most entries that are counted in one step. */
const COUNT_STEP = 0xffff_ffff;

/**
 * What a reader reads, and how. @internal
 */
export interface Scope<K extends Encoding, V extends Encoding> {
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
    return core.value(keyspace, snapshot, key, this.#valueEncoding(options));
  }

  /** The values of many keys, in their order. */
  getMany<E extends Encoding = V>(
    keys: readonly Bytes[],
    options: ReadOptions<E> = {},
  ): (Decoded<E> | undefined)[] {
    check("keys", keys, Array.isArray(keys), "an array");
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
    return parse(core.engine.call((store) => store.trace(keyspace, snapshot, packKey(key))));
  }

  /** How an iteration over a range comes to its first entry, step by step. */
  traceScan(options: RangeOptions & { reverse?: boolean | undefined } = {}): Trace {
    const { engine } = this.scope.core;
    const { keyspace, snapshot, range, reverse } = toScan(this.scope, options);
    return parse(engine.call((store) => store.trace_scan(keyspace, snapshot, range, reverse)));
  }

  /**
   * The entries of a range, in key order, as the store is at this call; later writes do not show.
   * Leave the loop, or call `return()`, so that the store can forget that state.
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
    const { engine } = this.scope.core;
    const scan = this.#scan(options);
    try {
      let total = 0;
      while (!scan.done) total += engine.call(() => scan.count(COUNT_STEP));
      return total;
    } finally {
      endScan(engine, scan);
    }
  }

  #walk<T>(
    options: EntriesOptions<Encoding, Encoding>,
    { keys, values, read }: Part<T>,
  ): Generator<T, void, undefined> {
    const { engine } = this.scope.core;
    const scan = this.#scan(options);
    // One that is forgotten the module's own registry frees.
    return entered(
      (function* () {
        try {
          yield undefined as never;
          let bytes = FIRST_PAGE_BYTES;
          while (!scan.done) {
            yield* read(engine.call(() => scan.page(bytes, keys, values)));
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
    return this.scope.core.engine.call((store) =>
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
  release(scan);
  // Files that it held may go.
  engine.askTurn();
}
