/** State shared by all parts of a store: the engine, its listeners, and buffers that are reused. */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import { decode, encodeInto, maxByteLength } from "../codec/bytes.ts";
import { Encoder, MAX_BATCH_BYTES } from "../codec/encoder.ts";
import { checkLength } from "../codec/validate.ts";
import type { Engine } from "../engine/engine.ts";
import { Listeners } from "../shared/events.ts";

/** An encoder that holds more bytes than this is not reused. */
const SPARE_BYTES = 1 << 20;

/** The size of the length that precedes a value. */
const LENGTH_BYTES = 4;

/** State shared by the parts of an open store. */
export class Context {
  readonly name: string;
  readonly engine: Engine;
  /** The address of the lookup key's buffer in the module's memory, and its size. */
  #keyAt: number = 0;
  #keyCapacity: number = -1;
  readonly listeners: Listeners;
  #spare: Encoder | undefined = new Encoder();

  constructor(name: string, engine: Engine) {
    this.name = name;
    this.engine = engine;
    engine.onFailure = (failure) => this.listeners.end(failure);
    this.listeners = new Listeners((on) => {
      const emit = (json: string) => this.listeners.dispatch([json]);
      engine.call((store) => {
        store.listen(on ? emit : undefined);
        if (on) this.listeners.setNames(store.keyspaces());
      });
    });
  }

  /** Returns the value of a key, or undefined if the key does not exist. */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    const needed = maxByteLength("key", key, MAX_KEY_BYTES);
    // Within the call, which fails if the store is closed: its buffer has been freed then.
    const at = this.engine.call((store) => {
      if (needed > this.#keyCapacity) {
        this.#keyAt = store.key_buffer(needed);
        this.#keyCapacity = needed;
      }
      const length = encodeInto(
        "key",
        key,
        MAX_KEY_BYTES,
        this.engine.module.memory(),
        this.#keyAt,
      );
      return store.get(keyspace, snapshot, length);
    });
    if (at === 0) return undefined;
    const bytes = this.engine.module.memory();
    const start = at + LENGTH_BYTES;
    let end = start;
    for (let i = 0; i < LENGTH_BYTES; i++) end += (bytes[at + i] as number) << (8 * i);
    // Decoding makes a copy; bytes have to be copied.
    const value = encoding === "binary" ? bytes.slice(start, end) : bytes.subarray(start, end);
    return decode(value, encoding);
  }

  /** Commits the operations that `fill` encodes; returns the sequence number. `fill` may call the store. */
  write(sync: boolean, fill: (batch: Encoder) => void): number {
    const batch = this.#spare ?? new Encoder();
    this.#spare = undefined;
    try {
      fill(batch);
      checkLength("batch", batch.length, MAX_BATCH_BYTES);
      const sequence = this.engine.write(batch.bytes());
      if (sync) this.engine.sync();
      return sequence;
    } finally {
      const small = batch.length <= SPARE_BYTES;
      batch.truncate(0);
      if (small) this.#spare = batch;
    }
  }
}
