/** Reads by a synchronous store: keys are written into the module's memory, and what is found is read there. */

import type { Scan } from "../../wasm/terrane.js";
import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { decode, encodeInto, encodeKey, isText, maxByteLength, toContent } from "../codec/bytes.ts";
import type { Engine } from "./engine.ts";
import { Lookups } from "./lookups.ts";

/** A result of the engine: in memory that its next call may change, or of the addon in bytes of its own. */
export interface Returned {
  bytes: Uint8Array;
  /** The place of the result in the bytes. */
  at: number;
}

/** Reads of one store. */
export class Gets {
  readonly #engine: Engine;
  readonly #lookups: Lookups;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#lookups = new Lookups(engine);
  }

  /** Returns the value of a key. */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    const text = toContent("key", key);
    const bytes = maxByteLength("key", text, MAX_KEY_BYTES);
    const value = this.#lookups.view(keyspace, snapshot, bytes, (memory, at) =>
      encodeInto("key", text, MAX_KEY_BYTES, memory, at),
    );
    if (value === undefined) return undefined;
    // Decoding makes a copy; bytes have to be copied.
    return decode(isText(encoding) ? value : value.slice(), encoding, () => encodeKey(key));
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
