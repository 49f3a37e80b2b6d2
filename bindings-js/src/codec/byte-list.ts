/**
 * Lists of byte strings, in which the engine returns keys and values.
 *
 * 1. A list is the number of its strings, all their lengths, then all their bytes. Numbers are
 *    unsigned 32 bits, little-endian; the length 0xFFFFFFFF stands for a missing string.
 * 2. Creating a string or a buffer for each would cost more than fetching it. Adjacent strings are
 *    decoded as one text, which is then sliced, or share one buffer.
 * 3. Keeping one of them alive keeps all that share with it, so they are limited to 16 KiB together.
 */

import type { Decoded, Encoding } from "../api/data.ts";
import { decode } from "./bytes.ts";

const MISSING = 0xffff_ffff;
const NUMBER_BYTES = 4;
const SHARED_BYTES = 16 << 10;

/** A list in a buffer. */
export class ByteList {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #lengthsAt: number;
  /** The start of each string, and the end of the last. */
  readonly #offsets: Uint32Array;

  /** Reads the list that starts at `at`. */
  constructor(bytes: Uint8Array, at = 0) {
    // Memory that is shared never gets here.
    this.#bytes = bytes as Uint8Array<ArrayBuffer>;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const size = this.#view.getUint32(at, true);
    this.#lengthsAt = at + NUMBER_BYTES;
    this.#offsets = new Uint32Array(size + 1);
    let offset = this.#lengthsAt + NUMBER_BYTES * size;
    for (let i = 0; i < size; i++) {
      this.#offsets[i] = offset;
      const length = this.#length(i);
      if (length !== MISSING) offset += length;
    }
    this.#offsets[size] = offset;
  }

  get size(): number {
    return this.#offsets.length - 1;
  }

  /** The end of the list in its buffer. */
  get end(): number {
    return this.#offset(this.size);
  }

  /** Decodes the strings from `first` to `last`; a missing one is undefined. An error names the key of its string. */
  decode<E extends Encoding>(
    encoding: E,
    first = 0,
    last: number = this.size,
    keyAt: (index: number) => Uint8Array = (index) => this.#at(index),
  ): (Decoded<E> | undefined)[] {
    const strings: (Decoded<E> | undefined)[] = [];
    while (first < last) {
      const start = this.#offset(first);
      let next = first + 1;
      while (next < last && this.#offset(next + 1) - start <= SHARED_BYTES) next += 1;
      const slice = this.#slicer(encoding, start, this.#offset(next), keyAt);
      for (; first < next; first++) {
        const missing = this.#length(first) === MISSING;
        strings.push(
          missing ? undefined : slice(this.#offset(first), this.#offset(first + 1), first),
        );
      }
    }
    return strings;
  }

  /** Returns what slices the adjacent strings between `start` and `end`. */
  #slicer<E extends Encoding>(
    encoding: E,
    start: number,
    end: number,
    keyAt: (index: number) => Uint8Array,
  ): (from: number, to: number, index: number) => Decoded<E> {
    const bytes = this.#bytes;
    if (encoding !== "utf8" && encoding !== "json") {
      const small = bytes.buffer.byteLength <= SHARED_BYTES;
      const buffer = small ? bytes.buffer : bytes.slice(start, end).buffer;
      const base = small ? bytes.byteOffset : -start;
      const view = (from: number, to: number) => new Uint8Array(buffer, base + from, to - from);
      if (encoding === "binary") return view as (from: number, to: number) => Decoded<E>;
      return (from, to, index) => decode(view(from, to), encoding, () => keyAt(index));
    }
    const text = encoding === "utf8" ? ascii(bytes.subarray(start, end)) : undefined;
    if (text === undefined) {
      return (from, to, index) => decode(bytes.subarray(from, to), encoding, () => keyAt(index));
    }
    return (from, to) => text.substring(from - start, to - start) as Decoded<E>;
  }

  #at(index: number): Uint8Array {
    return this.#bytes.subarray(this.#offset(index), this.#offset(index + 1));
  }

  #offset(index: number): number {
    return this.#offsets[index] as number;
  }

  #length(index: number): number {
    return this.#view.getUint32(this.#lengthsAt + NUMBER_BYTES * index, true);
  }
}

/** Decodes bytes if each of them is one character. */
function ascii(bytes: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    const text = decode(bytes, "utf8");
    return text.length === bytes.length ? text : undefined;
  } catch {
    // One of them is not UTF-8: the others can still be decoded one by one.
    return undefined;
  }
}
