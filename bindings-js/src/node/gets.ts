/** Gets by a synchronous store: the addon reads the key from memory of JavaScript, and writes the value there. */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { decode, encodeInto, encodeKey, maxByteLength, toContent } from "../codec/bytes.ts";
import type { Store } from "../../wasm/terrane.js";
import type { AddonStore } from "./addon.ts";
import type { Module } from "./module.ts";

/** The owner of a store, which calls the addon. */
interface Caller {
  readonly module: Module;
  call<T>(body: (store: Store) => T): T;
}

/** Gets of one store. */
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
    const { module } = this.#engine;
    const text = toContent("key", key);
    // The most that encoding may write, for text more than the longest key.
    let memory = module.memory(maxByteLength("key", text, MAX_KEY_BYTES));
    const size = encodeInto("key", text, MAX_KEY_BYTES, memory, 0);
    const length = this.#engine.call((store) => {
      const addon = store as unknown as AddonStore;
      const length = addon.get(keyspace, snapshot, memory, size);
      if (length > memory.length) addon.take((memory = module.memory(length)));
      return length;
    });
    if (length < 0) return undefined;
    // Decoding makes a copy; bytes have to be copied.
    const isText = encoding === "utf8" || encoding === "json";
    const value = isText ? memory.subarray(0, length) : memory.slice(0, length);
    return decode(value, encoding, () => encodeKey(key));
  }
}
