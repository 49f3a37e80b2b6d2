/** Reads by a synchronous store: the addon reads the key of a get from JavaScript, and writes the value there. */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { decode, encodeInto, encodeKey, isText, maxByteLength, toContent } from "../codec/bytes.ts";
import type { Scan, Store } from "../../wasm/terrane.js";
import type { Returned } from "../engine/gets.ts";
import type { AddonStore } from "./addon.ts";
import type { Module } from "./module.ts";

/** Stands for a value for which a file has to be read. */
export const UNREAD: unique symbol = Symbol("unread");

/** Stands for the length of such a value. */
const WOULD_READ = -2;

/** The owner of a store, which calls the addon. */
interface Caller {
  readonly module: Module;
  call<T>(body: (store: Store) => T): T;
}

/** A value in memory of the module; undefined if there is none. */
type Found = Uint8Array<ArrayBuffer> | undefined;

/** Reads of one store. */
export class Gets {
  readonly #engine: Caller;

  constructor(engine: Caller) {
    this.#engine = engine;
  }

  /** Returns the value of a key. */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    const found = this.find(keyspace, snapshot, key);
    if (found === undefined) return undefined;
    // Decoding makes a copy; bytes have to be copied.
    return decode(isText(encoding) ? found : found.slice(), encoding, () => encodeKey(key));
  }

  /** Returns the value of a key, in memory that the next get uses again. */
  find(keyspace: number, snapshot: number, key: Bytes): Found {
    return this.#find("get", keyspace, snapshot, key) as Found;
  }

  /** Returns the value of a key, if no file has to be read for it, in memory that the next get uses again. */
  tryGet(keyspace: number, snapshot: number, key: Bytes): Found | typeof UNREAD {
    return this.#find("try_get", keyspace, snapshot, key);
  }

  /** Returns the list of the values of encoded keys. */
  getMany(keyspace: number, snapshot: number, keys: Uint8Array): Returned {
    const bytes = this.#engine.call((store) => store.get_many(keyspace, snapshot, keys));
    return { bytes, at: 0 };
  }

  /** Returns the next page of a scan. */
  page(scan: Scan, bytes: number, keys: boolean, values: boolean): Returned {
    return { bytes: this.#engine.call(() => scan.page(bytes, keys, values)), at: 0 };
  }

  #find(
    how: "get" | "try_get",
    keyspace: number,
    snapshot: number,
    key: Bytes,
  ): Found | typeof UNREAD {
    const { module } = this.#engine;
    const text = toContent("key", key);
    // The most that encoding may write, for text more than the longest key.
    let memory = module.memory(maxByteLength("key", text, MAX_KEY_BYTES));
    const size = encodeInto("key", text, MAX_KEY_BYTES, memory, 0);
    const length = this.#engine.call((store) => {
      const addon = store as unknown as AddonStore;
      const length = addon[how](keyspace, snapshot, memory, size);
      if (length > memory.length) addon.take((memory = module.memory(length)));
      return length;
    });
    if (length === WOULD_READ) return UNREAD;
    return length < 0 ? undefined : memory.subarray(0, length);
  }
}
