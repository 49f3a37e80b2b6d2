/** Lookups of single keys, which write a key into the module's memory and read its value there. */

import type { Store } from "../../wasm/terrane.js";
import { UTF8_MAX, writeAscii } from "../codec/utf8.ts";
import type { Engine } from "./engine.ts";

/** The size of the length that precedes a value. */
const LENGTH_BYTES = 4;

/**
 * The length up to which a value is read character by character. A decoder takes longer there, since its code has left
 * the processor's caches between two messages.
 */
const SHORT = 256;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lookups in one store, or in what a client has of it. */
export class Lookups {
  readonly #engine: Engine;
  readonly #view: Store | undefined;
  /** The address of the lookup key's buffer in the module's memory, and its size. */
  #keyAt: number = 0;
  #keyCapacity: number = -1;

  constructor(engine: Engine, view?: Store) {
    this.#engine = engine;
    this.#view = view;
  }

  /** Returns the value of a key: as `text` if it is valid UTF-8, otherwise in bytes. */
  find(
    keyspace: number,
    snapshot: number,
    key: string,
    text: boolean,
  ): string | Uint8Array | undefined {
    const value = this.view(keyspace, snapshot, UTF8_MAX * key.length, (memory, at) =>
      encodeText(key, memory, at),
    );
    if (value === undefined || !text) return value?.slice();
    if (value.length <= SHORT && isAscii(value)) return textOf(value);
    try {
      // A decoder takes no shared memory.
      return decoder.decode(value.buffer instanceof ArrayBuffer ? value : value.slice());
    } catch {
      return value.slice();
    }
  }

  /**
   * Returns a view of the value of a key in the module's memory, valid until the module's next call. `encode` writes
   * the key, which takes at most `bytes`, and returns its length.
   */
  view(
    keyspace: number,
    snapshot: number,
    bytes: number,
    encode: (memory: Uint8Array, at: number) => number,
  ): Uint8Array<ArrayBuffer> | undefined {
    const { module } = this.#engine;
    // Within the call, which fails if the store is closed: its buffer has been freed then.
    const at = this.#engine.call((store) => {
      if (bytes > this.#keyCapacity) {
        this.#keyAt = store.key_buffer(bytes);
        this.#keyCapacity = bytes;
      }
      return store.get(keyspace, snapshot, encode(module.memory(), this.#keyAt));
    }, this.#view);
    if (at === 0) return undefined;
    const memory = module.memory() as Uint8Array<ArrayBuffer>;
    const start = at + LENGTH_BYTES;
    let end = start;
    for (let i = 0; i < LENGTH_BYTES; i++) end += (memory[at + i] as number) << (8 * i);
    return memory.subarray(start, end);
  }
}

/** Returns short text as a string. Spreading the bytes as arguments would copy them into an array first. */
function textOf(ascii: Uint8Array): string {
  return String.fromCharCode.apply(null, ascii as unknown as number[]);
}

function isAscii(bytes: Uint8Array): boolean {
  let all = 0;
  for (let i = 0; i < bytes.length; i++) all |= bytes[i] as number;
  return all < 0x80;
}

/** Writes text at `at`; returns its length. */
function encodeText(text: string, memory: Uint8Array, at: number): number {
  if (writeAscii(text, memory, at) === text.length) return text.length;
  // An encoder takes no shared memory.
  const bytes = encoder.encode(text);
  memory.set(bytes, at);
  return bytes.length;
}
