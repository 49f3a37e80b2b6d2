/**
 * Tuples as keys: the order of their bytes is the order of the tuples, element by element.
 *
 * 1. An element is a byte for its type, then its content. The types are in this order: null, false, true, numbers,
 *    dates, strings, bytes, tuples.
 * 2. A number is its IEEE 754 double, big-endian, with the sign inverted, and of a negative one all bits. A date is
 *    the number of its milliseconds.
 * 3. Text is UTF-8. Text and bytes end with 0; within them 0 is followed by 0xFF, which is more than any type.
 * 4. A nested tuple ends with 0, which is less than any type; the outermost ends with the key. So a tuple is less than
 *    those that it is the start of, and the bytes of these start with its own: it is a prefix.
 */

import type { Bytes, Codec } from "../api/data.ts";

/** An element of a tuple. Numbers include infinities, but not NaN; -0 is 0. */
export type Element = null | boolean | number | Date | string | Uint8Array | readonly Element[];

/** A key of several elements. */
export type Tuple = readonly Element[];

const END = 0;
const NULL = 1;
const FALSE = 2;
const TRUE = 3;
const NUMBER = 4;
const DATE = 5;
const TEXT = 6;
const BYTES = 7;
const TUPLE = 8;
/** Stands behind a 0 that is content. */
const CONTENT = 0xff;
const DOUBLE = 8;
/** The deepest nesting. */
const MAX_DEPTH = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The encoding of tuples. */
export const tuple: Codec<Tuple> = {
  encode(elements: Tuple): Bytes {
    const bytes: number[] = [];
    if (!Array.isArray(elements)) throw refused(elements);
    for (const element of elements) push(bytes, element, 0);
    return Uint8Array.from(bytes);
  },
  decode(bytes: Uint8Array<ArrayBuffer>): Tuple {
    return new Reader(bytes).elements(0);
  },
};

function refused(found: unknown): TypeError {
  const expected = "null, booleans, numbers, dates, well-formed strings, bytes, or tuples of these";
  return new TypeError(
    `expected ${expected}, found ${Array.isArray(found) ? "a tuple" : String(found)}`,
  );
}

function push(bytes: number[], element: Element, depth: number): void {
  if (element === null) {
    bytes.push(NULL);
  } else if (typeof element === "boolean") {
    bytes.push(element ? TRUE : FALSE);
  } else if (typeof element === "number") {
    pushNumber(bytes, NUMBER, element);
  } else if (element instanceof Date) {
    pushNumber(bytes, DATE, element.getTime());
  } else if (typeof element === "string") {
    if (!(element.isWellFormed?.() ?? !/\p{Cs}/u.test(element))) throw refused(element);
    pushContent(bytes, TEXT, encoder.encode(element));
  } else if (element instanceof Uint8Array) {
    pushContent(bytes, BYTES, element);
  } else if (Array.isArray(element) && depth < MAX_DEPTH) {
    bytes.push(TUPLE);
    for (const nested of element) push(bytes, nested, depth + 1);
    bytes.push(END);
  } else {
    throw refused(element);
  }
}

function pushNumber(bytes: number[], type: number, value: number): void {
  if (Number.isNaN(value)) throw refused(value);
  const view = new DataView(new ArrayBuffer(DOUBLE));
  // -0 becomes 0.
  view.setFloat64(0, value + 0);
  bytes.push(type);
  const mask = value < 0 ? 0xff : 0;
  for (let at = 0; at < DOUBLE; at++) {
    bytes.push(view.getUint8(at) ^ mask ^ (at === 0 && mask === 0 ? 0x80 : 0));
  }
}

function pushContent(bytes: number[], type: number, content: Uint8Array): void {
  bytes.push(type);
  for (const byte of content) {
    bytes.push(byte);
    if (byte === 0) bytes.push(CONTENT);
  }
  bytes.push(END);
}

/** Reads elements from bytes. */
class Reader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  /** Reads elements up to the end of their tuple. */
  elements(depth: number): Element[] {
    const elements: Element[] = [];
    if (depth > MAX_DEPTH) throw this.#malformed();
    for (;;) {
      if (depth === 0 && this.#at === this.#bytes.length) return elements;
      const type = this.#next();
      if (type === END && depth > 0) return elements;
      elements.push(this.#element(type, depth));
    }
  }

  #element(type: number, depth: number): Element {
    switch (type) {
      case NULL:
        return null;
      case FALSE:
      case TRUE:
        return type === TRUE;
      case NUMBER:
        return this.#number();
      case DATE:
        return new Date(this.#number());
      case TEXT:
        return decoder.decode(this.#content());
      case BYTES:
        return this.#content();
      case TUPLE:
        return this.elements(depth + 1);
      default:
        throw this.#malformed();
    }
  }

  #number(): number {
    const view = new DataView(new ArrayBuffer(DOUBLE));
    let mask = 0;
    for (let at = 0; at < DOUBLE; at++) {
      const byte = this.#next();
      if (at === 0) mask = byte < 0x80 ? 0xff : 0;
      view.setUint8(at, byte ^ mask ^ (at === 0 && mask === 0 ? 0x80 : 0));
    }
    return view.getFloat64(0);
  }

  #content(): Uint8Array<ArrayBuffer> {
    const content: number[] = [];
    for (;;) {
      const byte = this.#next();
      if (byte === 0 && this.#bytes[this.#at] !== CONTENT) return Uint8Array.from(content);
      if (byte === 0) this.#at += 1;
      content.push(byte);
    }
  }

  #next(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw this.#malformed();
    return byte;
  }

  #malformed(): TypeError {
    return new TypeError(`expected the bytes of a tuple, found others at ${this.#at - 1}`);
  }
}
