/** The bounds of ranges: those that are given, or those of a prefix. */

import { type Bytes, MAX_KEY_BYTES, type RangeOptions } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { encodeBytes } from "./bytes.ts";

/** Bounds without a prefix. */
export type Bounds = Omit<RangeOptions, "prefix">;

/** Returns the bounds of a range; a prefix stands alone. */
export function toBounds({ prefix, gte, gt, lte, lt }: RangeOptions): Bounds {
  if (prefix === undefined) return { gte, gt, lte, lt };
  if ([gte, gt, lte, lt].some((bound) => bound !== undefined)) {
    throw new InvalidArgumentError("range: expected a prefix or bounds, found both");
  }
  const first = encodeBytes("prefix", prefix, MAX_KEY_BYTES);
  return { gte: first, lt: behind(first) };
}

/** Returns the first key behind all that start with `prefix`; undefined if there is none. */
function behind(prefix: Uint8Array): Bytes | undefined {
  const at = prefix.findLastIndex((byte) => byte < 0xff);
  if (at === -1) return undefined;
  const bytes = prefix.slice(0, at + 1);
  bytes[at] = (bytes[at] as number) + 1;
  return bytes;
}
