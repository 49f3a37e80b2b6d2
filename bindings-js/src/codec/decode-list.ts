/**
 * Decoding of lists of byte strings.
 *
 * 1. Creating a string or a buffer for each would cost more than fetching it. Adjacent strings are
 *    decoded as one text, which is then sliced, or share one buffer.
 * 2. Keeping one of them alive keeps all that share with it, so they are limited to 16 KiB together.
 */

import type { Decoded, Encoding } from "../api/data.ts";
import type { ByteList } from "./byte-list.ts";
import { decode } from "./bytes.ts";

const SHARED_BYTES = 16 << 10;

/** Decodes the strings from `first` to `last`; a missing one is undefined. An error names the key of its string. */
export function decodeList<E extends Encoding>(
  list: ByteList,
  encoding: E,
  first = 0,
  last: number = list.size,
  keyAt: (index: number) => Uint8Array = (index) => list.at(index) as Uint8Array,
): (Decoded<E> | undefined)[] {
  const strings: (Decoded<E> | undefined)[] = [];
  while (first < last) {
    const start = list.offset(first);
    let next = first + 1;
    while (next < last && list.offset(next + 1) - start <= SHARED_BYTES) next += 1;
    const slice = slicer(list, encoding, start, list.offset(next), keyAt);
    for (; first < next; first++) {
      const missing = list.isMissing(first);
      strings.push(missing ? undefined : slice(list.offset(first), list.offset(first + 1), first));
    }
  }
  return strings;
}

/** Returns what slices the adjacent strings between `start` and `end`. */
function slicer<E extends Encoding>(
  { bytes }: ByteList,
  encoding: E,
  start: number,
  end: number,
  keyAt: (index: number) => Uint8Array,
): (from: number, to: number, index: number) => Decoded<E> {
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
