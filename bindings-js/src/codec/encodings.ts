/** Keys and values, turned into bytes by their encoding. */

import type { Bytes, Encodable, Encoding } from "../api/data.ts";
import { InvalidArgumentError } from "../api/errors.ts";
import { isBytesLike, invalid } from "./validate.ts";

/** Returns a key or value as bytes; those of `"utf8"` and `"binary"` are checked where they are copied. */
export function toBytes<E extends Encoding>(
  what: string,
  content: Encodable<E>,
  encoding: E,
): Bytes {
  if (encoding === "utf8" || encoding === "binary") return content as Bytes;
  let bytes: unknown;
  try {
    bytes = encoding === "json" ? JSON.stringify(content) : encoding.encode(content);
    if (typeof bytes === "string" || isBytesLike(bytes)) return bytes;
  } catch (cause) {
    throw new InvalidArgumentError(`${what}: its encoding failed: ${cause}`, { cause });
  }
  const expected = encoding === "json" ? "what JSON can express" : "an encoding that returns bytes";
  const { message } = invalid(what, expected, bytes);
  throw new InvalidArgumentError(message, { cause: new TypeError(message) });
}
