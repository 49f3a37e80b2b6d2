/** Ranges: the keys between two bounds, or those with a prefix. */

import { type Encodable, type Encoding, MAX_KEY_BYTES, type RangeFields } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { encodeBytes } from "./bytes.ts";
import { encodeSpan, type Span } from "./encoder.ts";
import { toBytes } from "./encodings.ts";

/** Returns the keys of a range; a prefix stands alone. */
export function toSpan<K extends Encoding>(range: RangeFields<K>, encoding: K): Span {
  const encode = (what: string, key: Encodable<K>) =>
    encodeBytes(what, toBytes(what, key, encoding), MAX_KEY_BYTES);
  // Bounds are not chosen by `??`: a key that is null is a mistake rather than an omitted bound.
  const edge = (at: "gte" | "lt", behind: "gt" | "lte"): Uint8Array | undefined => {
    const { [at]: first, [behind]: before } = range;
    if (before === undefined) return first === undefined ? undefined : encode(at, first);
    if (first !== undefined) throw foundBoth(`one of ${at} and ${behind}`);
    return Uint8Array.of(...encode(behind, before), 0);
  };
  const [from, to] = [edge("gte", "gt"), edge("lt", "lte")];
  if (range.prefix === undefined) return { from: from ?? new Uint8Array(), to };
  if (from !== undefined || to !== undefined) throw foundBoth("a prefix or bounds");
  const prefix = encode("prefix", range.prefix);
  return { from: prefix, to: keyBehind(prefix) };
}

/** Encodes a range that is given by its options. */
export function encodeRange<K extends Encoding>(
  range: RangeFields<K>,
  encoding: K,
): Uint8Array<ArrayBuffer> {
  return encodeSpan(toSpan(range, encoding));
}

function foundBoth(expected: string): InvalidArgumentError {
  return new InvalidArgumentError(`range: expected ${expected}, found both`);
}

/** Returns the first key behind all that start with `prefix`; undefined if there is none. */
function keyBehind(prefix: Uint8Array): Uint8Array | undefined {
  const at = prefix.findLastIndex((byte) => byte < 0xff);
  if (at === -1) return undefined;
  const bytes = prefix.slice(0, at + 1);
  bytes[at] = (bytes[at] as number) + 1;
  return bytes;
}
