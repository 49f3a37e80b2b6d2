/** Reads by a synchronous store: keys are written into the module's memory, and what is found is read there. */

import type { Scan } from "../../wasm/terrane.js";
import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { decode, encodeInto, encodeKey, maxByteLength, toContent } from "../codec/bytes.ts";
import type { Engine } from "./engine.ts";

/** The size of the length that precedes a value. */
const LENGTH_BYTES = 4;

/** A result of the engine: in memory that its next call may change, or of the addon in bytes of its own. */
export interface Returned {
  bytes: Uint8Array;
  /** The place of the result in the bytes. */
  at: number;
}

/** Reads of one store. */
export class Gets {
  readonly #engine: Engine;
  /** The address of the lookup key's buffer in the module's memory, and its size. */
  #keyAt: number = 0;
  #keyCapacity: number = -1;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Returns the value of a key. */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    const text = toContent("key", key);
    const needed = maxByteLength("key", text, MAX_KEY_BYTES);
    const { module } = this.#engine;
    // Within the call, which fails if the store is closed: its buffer has been freed then.
    const at = this.#engine.call((store) => {
      if (needed > this.#keyCapacity) {
        this.#keyAt = store.key_buffer(needed);
        this.#keyCapacity = needed;
      }
      const length = encodeInto("key", text, MAX_KEY_BYTES, module.memory(), this.#keyAt);
      return store.get(keyspace, snapshot, length);
    });
    if (at === 0) return undefined;
    // The module of a worker without threads has memory of its own.
    const bytes = module.memory() as Uint8Array<ArrayBuffer>;
    const start = at + LENGTH_BYTES;
    let end = start;
    for (let i = 0; i < LENGTH_BYTES; i++) end += (bytes[at + i] as number) << (8 * i);
    // Decoding makes a copy; bytes have to be copied.
    const isText = encoding === "utf8" || encoding === "json";
    const value = isText ? bytes.subarray(start, end) : bytes.slice(start, end);
    return decode(value, encoding, () => encodeKey(key));
  }

  /** Returns the list of the values of encoded keys. */
  getMany(keyspace: number, snapshot: number, keys: Uint8Array): Returned {
    return this.#returned(
      this.#engine.call((store) => store.get_many_in_place(keyspace, snapshot, keys)),
    );
  }

  /** Returns the next page of a scan. */
  page(scan: Scan, bytes: number, keys: boolean, values: boolean): Returned {
    return this.#returned(this.#engine.call(() => scan.page_in_place(bytes, keys, values)));
  }

  #returned(at: number): Returned {
    return { bytes: this.#engine.module.memory(), at };
  }
}
