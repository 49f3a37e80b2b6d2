/**
 * Conflicts of a batch that was refused, as the engine returns them: 0, the number of conditions that failed, for each
 * of these its index, the sequence number found and the time at which the value expires, a list of the keys, and one of
 * the values. The number is an unsigned integer of 32 bits, the others are doubles, all little-endian.
 */

import type { Encoding } from "../api/data.ts";
import { type Conflict, ConflictError } from "../api/errors.ts";
import { ByteList } from "./byte-list.ts";
import { decodeList } from "./decode-list.ts";
import { decode } from "./bytes.ts";
import type { Encodings } from "./conditions.ts";

const DOUBLE = 8;
const NUMBER = 4;

/** Returns the error of a refused batch, with values in the encodings of each condition, or in those of the last. */
export function decodeConflicts(bytes: Uint8Array, encodings: readonly Encodings[]): ConflictError {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(DOUBLE, true);
  const listsAt = DOUBLE + NUMBER + 3 * DOUBLE * count;
  const keys = new ByteList(bytes, listsAt);
  const values = decodeList(new ByteList(bytes, keys.end), "binary");
  const conflicts = decodeList(keys, "binary").map((key, i): Conflict => {
    const at = DOUBLE + NUMBER + 3 * DOUBLE * i;
    const condition = view.getFloat64(at, true);
    const sequence = view.getFloat64(at + DOUBLE, true) || undefined;
    const expiresAt = view.getFloat64(at + 2 * DOUBLE, true) || undefined;
    const { keyEncoding, valueEncoding } = encodings[condition] ?? (encodings.at(-1) as Encodings);
    return {
      condition,
      key: decodeOrCopy(key, keyEncoding),
      value: decodeOrCopy(values[i], valueEncoding),
      sequence,
      expiresAt,
    };
  });
  const failed = conflicts.map(({ condition }) => condition).join(", ");
  const message = `expected all conditions to hold, found that these do not: ${failed}`;
  return new ConflictError(conflicts, message);
}

/** Decodes what was found; bytes of another form stay bytes, so that no conflict is lost. */
function decodeOrCopy(bytes: Uint8Array<ArrayBuffer> | undefined, encoding: Encoding): unknown {
  if (bytes === undefined || encoding === "binary") return bytes?.slice();
  try {
    return decode(bytes, encoding);
  } catch {
    return bytes.slice();
  }
}
