/** A store, as the page sees it. */

import type { Connection } from "./connection.ts";
import { count, type Entry, entries, type RangeOptions, toRange } from "./entries.ts";
import { InvalidArgumentError } from "./errors.ts";
import { type Bytes, type Decoded, decode, describe, type Encoding } from "./packing.ts";
import { type CheckReport, parse, type Stats } from "./stats.ts";

/**
 * When a write counts as done: `"sync"`, when it is on the medium; `"buffered"`, when the engine
 * has it. Buffered writes reach the medium within the store's `syncInterval`, with the next sync
 * write, and when the page hides. A crash of the browser or the machine loses at most the buffered
 * writes since, the last ones first, and never a part of a batch.
 */
export type Durability = "sync" | "buffered";

/** Options of a write. */
export interface WriteOptions {
  /** Default: the store's. */
  durability?: Durability;
}

/** Options of a read. */
export interface ReadOptions<V extends Encoding> {
  /** How values come back. Default: the store's. */
  valueEncoding?: V;
}

/** Options of an iteration. */
export interface EntriesOptions<K extends Encoding, V extends Encoding>
  extends RangeOptions, ReadOptions<V> {
  /** How keys come back. Default: the store's. */
  keyEncoding?: K;
  /** Begin with the last key. Default: false. */
  reverse?: boolean;
  /** At most so many entries. Default: all. */
  limit?: number;
}

/** One write of a batch. */
export type BatchOperation =
  { type: "put"; key: Bytes; value: Bytes } | { type: "delete"; key: Bytes };

/** What a store falls back on where a call does not say. */
export interface Defaults<K extends Encoding, V extends Encoding> {
  durability: Durability;
  keyEncoding: K;
  valueEncoding: V;
}

/**
 * An open store. Keys are ordered by their bytes. Calls take effect in the order in which they are
 * made, also when they are not awaited in between.
 */
export class Db<
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> implements AsyncDisposable {
  /** The store's name. */
  readonly name: string;
  readonly #connection: Connection;
  readonly #defaults: Defaults<K, V>;

  /** For `open`. */
  constructor(name: string, connection: Connection, defaults: Defaults<K, V>) {
    this.name = name;
    this.#connection = connection;
    this.#defaults = defaults;
  }

  /** Sets the value of a key. */
  async put(key: Bytes, value: Bytes, options: WriteOptions = {}): Promise<void> {
    await this.#connection.write(this.#sync(options), (batch) => batch.put(key, value));
  }

  /** Removes a key; it need not be there. */
  async delete(key: Bytes, options: WriteOptions = {}): Promise<void> {
    await this.#connection.write(this.#sync(options), (batch) => batch.delete(key));
  }

  /** Writes all operations, in order, or none. */
  async batch(operations: Iterable<BatchOperation>, options: WriteOptions = {}): Promise<void> {
    checkIterable("batch", operations);
    await this.#connection.write(this.#sync(options), (batch) => {
      for (const operation of operations) {
        if (operation?.type === "put") batch.put(operation.key, operation.value);
        else if (operation?.type === "delete") batch.delete(operation.key);
        else throw unknownType(operation);
      }
    });
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
    checkIterable("keys", keys);
    const encoding = (options.valueEncoding ?? this.#defaults.valueEncoding) as E;
    const values = await this.#connection.lookup(keys);
    return values.map((value) => (value === undefined ? undefined : decode(value, encoding)));
  }

  /**
   * The entries of a range, in key order, as the store is at the first step; later writes do not
   * show. Leave the loop, or call `return()`, so that the store can forget that state.
   */
  entries<KE extends Encoding = K, VE extends Encoding = V>(
    options: EntriesOptions<KE, VE> = {},
  ): AsyncGenerator<Entry<KE, VE>, void, undefined> {
    const keyEncoding = (options.keyEncoding ?? this.#defaults.keyEncoding) as KE;
    const valueEncoding = (options.valueEncoding ?? this.#defaults.valueEncoding) as VE;
    return entries(this.#connection, toRange(options), keyEncoding, valueEncoding);
  }

  /** How many entries a range holds. Reads them all. */
  async count(range: RangeOptions = {}): Promise<number> {
    return await count(this.#connection, toRange(range));
  }

  /** Puts every earlier write on the medium. */
  async sync(): Promise<void> {
    await this.#connection.call({ op: "sync" });
  }

  /** Writes what is in memory to tables, and puts it on the medium. */
  async flush(): Promise<void> {
    await this.#connection.call({ op: "flush" });
  }

  /** The store's shape, room and counters. */
  async stats(): Promise<Stats> {
    return parse((await this.#connection.call({ op: "stats" })) as string) as Stats;
  }

  /** Reads and verifies everything stored, and reports what is damaged. */
  async check(): Promise<CheckReport> {
    return parse((await this.#connection.call({ op: "check" })) as string) as CheckReport;
  }

  /** Syncs, closes the store, and lets others open it. Calls made before are done first. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Closes, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #sync({ durability = this.#defaults.durability }: WriteOptions): boolean {
    checkDurability(durability);
    return durability === "sync";
  }
}

/** Refuses what is no durability. */
export function checkDurability(durability: Durability): void {
  if (durability !== "sync" && durability !== "buffered") {
    throw new InvalidArgumentError(
      `durability: expected "sync" or "buffered", found ${JSON.stringify(durability)}`,
    );
  }
}

function checkIterable(what: string, value: unknown): void {
  if (typeof (value as Iterable<unknown> | undefined)?.[Symbol.iterator] !== "function") {
    throw new InvalidArgumentError(`${what}: expected an array, found ${describe(value)}`);
  }
}

function unknownType(operation: never): InvalidArgumentError {
  const found = (operation as { type?: unknown } | undefined)?.type ?? describe(operation);
  return new InvalidArgumentError(
    `batch: expected operations of type "put" or "delete", found ${JSON.stringify(found)}`,
  );
}
