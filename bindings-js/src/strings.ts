/**
 * Byte strings as they come back, and how the caller gets them.
 *
 * 1. A list is how many there are, all their lengths, then all their bytes. Numbers are unsigned 32
 *    bits, little-endian; the length 0xFFFFFFFF says that there is no string.
 * 2. To make a text or a buffer for each would cost more than to fetch it. Neighbours are decoded as
 *    one text that is then cut, or are views of one buffer.
 * 3. A string that is kept keeps its neighbours, so they are few: 16 KiB together.
 */

import { type Decoded, decode, type Encoding } from "./packing.ts";

const MISSING = 0xffff_ffff;
const NUMBER_BYTES = 4;
const SHARED_BYTES = 16 << 10;

/** A list in a buffer. */
export class Strings {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #lengthsAt: number;
  /** Where each begins, and where the last one ends. */
  readonly #offsets: Uint32Array;

  /** The list that begins at `at`. */
  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
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

  /** Where the list ends in its buffer. */
  get end(): number {
    return this.#offset(this.size);
  }

  /** The strings from `first` to `last`; undefined for each that is not there. */
  read<E extends Encoding>(
    encoding: E,
    first = 0,
    last: number = this.size,
  ): (Decoded<E> | undefined)[] {
    const strings: (Decoded<E> | undefined)[] = [];
    while (first < last) {
      const start = this.#offset(first);
      let next = first + 1;
      while (next < last && this.#offset(next + 1) - start <= SHARED_BYTES) next += 1;
      const read = this.#reader(encoding, start, this.#offset(next));
      for (; first < next; first++) {
        const missing = this.#length(first) === MISSING;
        strings.push(missing ? undefined : read(this.#offset(first), this.#offset(first + 1)));
      }
    }
    return strings;
  }

  /** Reads neighbours, which lie from `start` to `end`. */
  #reader<E extends Encoding>(
    encoding: E,
    start: number,
    end: number,
  ): (from: number, to: number) => Decoded<E> {
    const bytes = this.#bytes;
    if (encoding === "binary") {
      const small = bytes.buffer.byteLength <= SHARED_BYTES;
      const buffer = small ? bytes.buffer : bytes.slice(start, end).buffer;
      const base = small ? bytes.byteOffset : -start;
      return (from, to) => new Uint8Array(buffer, base + from, to - from) as Decoded<E>;
    }
    const text = ascii(bytes.subarray(start, end));
    if (text === undefined) return (from, to) => decode(bytes.subarray(from, to), encoding);
    return (from, to) => text.substring(from - start, to - start) as Decoded<E>;
  }

  #offset(index: number): number {
    return this.#offsets[index] as number;
  }

  #length(index: number): number {
    return this.#view.getUint32(this.#lengthsAt + NUMBER_BYTES * index, true);
  }
}

/** The text of bytes, if each of them is a character. */
function ascii(bytes: Uint8Array): string | undefined {
  try {
    const text = decode(bytes, "utf8");
    return text.length === bytes.length ? text : undefined;
  } catch {
    // Decoded one by one, those that are not at fault can be read.
    return undefined;
  }
}
