/**
 * Lists of byte strings, in which the engine returns keys and values (decode-list.ts decodes them).
 *
 * A list is the number of its strings, all their lengths, then all their bytes. Numbers are unsigned 32 bits,
 * little-endian; the length 0xFFFFFFFF stands for a missing string.
 */

const MISSING = 0xffff_ffff;
const NUMBER_BYTES = 4;

/** A list in a buffer. */
export class ByteList {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #lengthsAt: number;
  /** The start of each string, and the end of the last. */
  readonly #offsets: Uint32Array;

  /** Reads the list that starts at `at`. */
  constructor(bytes: Uint8Array, at = 0) {
    // Memory that is shared never gets here.
    this.bytes = bytes as Uint8Array<ArrayBuffer>;
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

  /** Returns the list in a buffer of its own. */
  copied(): ByteList {
    return new ByteList(this.bytes.slice(this.#lengthsAt - NUMBER_BYTES, this.end));
  }

  get size(): number {
    return this.#offsets.length - 1;
  }

  /** The end of the list in its buffer. */
  get end(): number {
    return this.offset(this.size);
  }

  /** Returns a string; undefined if it is missing. */
  at(index: number): Uint8Array<ArrayBuffer> | undefined {
    if (this.isMissing(index)) return undefined;
    return this.bytes.subarray(this.offset(index), this.offset(index + 1));
  }

  /** Returns the start of a string, which is the end of the one before. */
  offset(index: number): number {
    return this.#offsets[index] as number;
  }

  isMissing(index: number): boolean {
    return this.#length(index) === MISSING;
  }

  #length(index: number): number {
    return this.#view.getUint32(this.#lengthsAt + NUMBER_BYTES * index, true);
  }
}
