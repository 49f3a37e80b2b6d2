/** What all parts of a store share: the engine, who listens to it, and packers that serve again. */

import { checkLength } from "../argument.ts";
import { type Engine, memory } from "../engine.ts";
import { Listeners } from "../events.ts";
import {
  type Bytes,
  type Decoded,
  decode,
  type Encoding,
  MAX_BATCH_BYTES,
  MAX_KEY_BYTES,
  Packer,
  room,
  write,
} from "../packing.ts";

/** Packers that keep more than this many bytes are not used again. */
const SPARE_BYTES = 1 << 20;

/** The bytes of the length that lies before a value. */
const LENGTH_BYTES = 4;

/** An open store, as its parts see it. */
export class Core {
  readonly name: string;
  readonly engine: Engine;
  /** Where a key goes that is looked up, in the module's memory, and how long it may be. */
  #keyAt: number = 0;
  #keyRoom: number = -1;
  readonly listeners: Listeners;
  #spare: Packer | undefined = new Packer();

  constructor(name: string, engine: Engine) {
    this.name = name;
    this.engine = engine;
    engine.onFailure = (failure) => this.listeners.end(failure);
    this.listeners = new Listeners((on) => {
      const emit = (json: string) => this.listeners.read([json]);
      engine.call((store) => {
        store.listen(on ? emit : undefined);
        if (on) this.listeners.learn(store.keyspaces());
      });
    });
  }

  /** The value of a key; undefined if it has none. */
  value<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Decoded<E> | undefined {
    const needed = room("key", key, MAX_KEY_BYTES);
    // Within the call: the room of a store that was closed is not its own any more.
    const at = this.engine.call((store) => {
      if (needed > this.#keyRoom) {
        this.#keyAt = store.key_room(needed);
        this.#keyRoom = needed;
      }
      const length = write("key", key, MAX_KEY_BYTES, memory(), this.#keyAt);
      return store.get(keyspace, snapshot, length);
    });
    if (at === 0) return undefined;
    const bytes = memory();
    const start = at + LENGTH_BYTES;
    let end = start;
    for (let i = 0; i < LENGTH_BYTES; i++) end += (bytes[at + i] as number) << (8 * i);
    // What is decoded is copied by that.
    const value = encoding === "binary" ? bytes.slice(start, end) : bytes.subarray(start, end);
    return decode(value, encoding);
  }

  /** Commits what `fill` packs, which may call the store itself; the batch's sequence. */
  write(sync: boolean, fill: (batch: Packer) => void): number {
    const batch = this.#spare ?? new Packer();
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
