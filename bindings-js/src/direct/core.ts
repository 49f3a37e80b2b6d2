/** What all parts of a store share: the engine, who listens to it, and packers that serve again. */

import { checkLength } from "../argument.ts";
import type { Engine } from "../engine.ts";
import { Listeners } from "../events.ts";
import { type Bytes, MAX_BATCH_BYTES, MAX_KEY_BYTES, Packer } from "../packing.ts";

/** Packers that keep more than this many bytes are not used again. */
const SPARE_BYTES = 1 << 20;

/** An open store, as its parts see it. */
export class Core {
  readonly name: string;
  readonly engine: Engine;
  /** Holds one key at a time. */
  readonly #key: Packer = new Packer();
  readonly listeners: Listeners;
  #spare: Packer | undefined = new Packer();

  constructor(name: string, engine: Engine) {
    this.name = name;
    this.engine = engine;
    engine.onFailure = (failure) => this.listeners.end(failure);
    this.listeners = new Listeners((on) => {
      const tell = (json: string) => this.listeners.read(json);
      engine.call((store) => {
        store.listen(on ? tell : undefined);
        if (on) this.listeners.learn(store.keyspaces());
      });
    });
  }

  /** The bytes of a key, until the next call; they are the key itself where it is bytes. */
  keyBytes(key: Bytes): Uint8Array {
    if (key instanceof Uint8Array) {
      checkLength("key", key.length, MAX_KEY_BYTES);
      return key;
    }
    this.#key.truncate(0);
    this.#key.bareKey(key);
    return this.#key.bytes();
  }

  /** Commits what `fill` packs, which may call the store itself. */
  write(sync: boolean, fill: (batch: Packer) => void): void {
    const batch = this.#spare ?? new Packer();
    this.#spare = undefined;
    try {
      fill(batch);
      checkLength("batch", batch.length, MAX_BATCH_BYTES);
      this.engine.write(batch.bytes());
      if (sync) this.engine.sync();
    } finally {
      const small = batch.length <= SPARE_BYTES;
      batch.truncate(0);
      if (small) this.#spare = batch;
    }
  }
}
