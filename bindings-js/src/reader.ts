/** Reading, in one keyspace: now, or as a snapshot shows it. */

import { abortable, type WaitOptions } from "./abort.ts";
import { check } from "./argument.ts";
import { count, walk } from "./entries.ts";
import {
  type EntriesOptions as Entries,
  type ReadOptions as Read,
  toEncodings,
  toScan,
} from "./options.ts";
import { type Bytes, type Decoded, type Encoding, packKey, type RangeOptions } from "./packing.ts";
import { type Entry, pairs, type Part, single } from "./parts.ts";
import type { Answer, Arguments, Method } from "./protocol.ts";
import type { Session } from "./session.ts";
import { parse } from "./stats.ts";
import type { Trace } from "./trace.ts";

/** Options of a read. */
export interface ReadOptions<V extends Encoding> extends Read<V>, WaitOptions {}

/** Options of an iteration. */
export interface EntriesOptions<K extends Encoding, V extends Encoding>
  extends Entries<K, V>, WaitOptions {}

/**
 * What a reader reads, and how. @internal
 */
export interface Scope<K extends Encoding, V extends Encoding> {
  session: Session;
  /** The keyspace's number. */
  keyspace: number;
  /** The snapshot's number; 0 to read the present. */
  snapshot: number;
  keyEncoding: K;
  valueEncoding: V;
  /** Rejects with the reason if the keyspace could not be opened. */
  opened: Promise<unknown> | undefined;
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
  async get<E extends Encoding = V>(
    key: Bytes,
    options: ReadOptions<E> = {},
  ): Promise<Decoded<E> | undefined> {
    const [value] = await this.getMany([key], options);
    return value;
  }

  /** The values of many keys, in their order, all as of one moment. */
  async getMany<E extends Encoding = V>(
    keys: readonly Bytes[],
    options: ReadOptions<E> = {},
  ): Promise<(Decoded<E> | undefined)[]> {
    check("keys", keys, Array.isArray(keys), "an array");
    const { session, keyspace, snapshot } = this.scope;
    const { valueEncoding } = toEncodings<K, E>(options, this.scope);
    const lookup = () => session.lookup(keyspace, snapshot, keys, valueEncoding);
    return await this.run(options, lookup);
  }

  /** How the value of a key is found, step by step. */
  async trace(key: Bytes, options: WaitOptions = {}): Promise<Trace> {
    const { keyspace, snapshot } = this.scope;
    return parse(await this.ask(options, "trace", keyspace, snapshot, packKey(key)));
  }

  /** How an iteration over a range comes to its first entry, step by step. */
  async traceScan(
    options: RangeOptions & WaitOptions & { reverse?: boolean | undefined } = {},
  ): Promise<Trace> {
    const { keyspace, snapshot, range, reverse } = toScan(this.scope, options);
    return parse(await this.ask(options, "trace_scan", keyspace, snapshot, range, reverse));
  }

  /**
   * The entries of a range, in key order, as the store is at this call; later writes do not show.
   * Leave the loop, or call `return()`, so that the store can forget that state.
   */
  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> = {},
  ): AsyncGenerator<Entry<KE, VE>, void, undefined> {
    const { keyEncoding, valueEncoding } = toEncodings<KE, VE>(options, this.scope);
    return this.#walk(options, pairs(keyEncoding, valueEncoding));
  }

  /** The keys of a range, as `entries` gives them. */
  keys<KE extends Encoding = K>(
    options: EntriesOptions<KE, V> = {},
  ): AsyncGenerator<Decoded<KE>, void, undefined> {
    return this.#walk(options, single("keys", toEncodings<KE, V>(options, this.scope).keyEncoding));
  }

  /** The values of a range, in the order of their keys. */
  values<VE extends Encoding = V>(
    options: EntriesOptions<K, VE> = {},
  ): AsyncGenerator<Decoded<VE>, void, undefined> {
    const { valueEncoding } = toEncodings<K, VE>(options, this.scope);
    return this.#walk(options, single("values", valueEncoding));
  }

  /** How many entries a range holds. Reads them all. */
  async count(options: RangeOptions & WaitOptions = {}): Promise<number> {
    const request = toScan(this.scope, options);
    const { session } = this.scope;
    return await this.run(options, () => count(session, request, options.signal));
  }

  /**
   * What a call promises, unless its signal comes first. @internal
   */
  run<T>({ signal }: WaitOptions, begin: () => Promise<T>): Promise<T> {
    const { opened } = this.scope;
    const running = abortable(signal, begin);
    if (opened === undefined) return running;
    // A keyspace that could not be opened says why, not that it is closed.
    return running.catch(async (error: unknown) => {
      await opened;
      throw error;
    });
  }

  /**
   * Calls the engine's store. @internal
   */
  ask<M extends Method>(options: WaitOptions, method: M, ...args: Arguments<M>): Answer<M> {
    return this.run(options, () => this.scope.session.ask(method, ...args));
  }

  #walk<T>(
    options: EntriesOptions<Encoding, Encoding>,
    part: Part<T>,
  ): AsyncGenerator<T, void, undefined> {
    return walk(this, toScan(this.scope, options), part, options);
  }
}
