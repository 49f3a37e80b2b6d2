/** Encoding of the batches that callers pass. */

import type { Encoding } from "../api/data.ts";
import type { BatchOperation, Mode } from "../api/store.ts";
import type { Named } from "./conditions.ts";
import type { Encoder } from "./encoder.ts";
import { toBytes } from "./encodings.ts";
import { OPERAND, toMerge } from "./operand.ts";
import { checkFields, EXPIRY, RANGE } from "./options.ts";
import { now, toExpiry } from "./requests.ts";
import { toSpan } from "./span.ts";
import { check, invalid } from "./validate.ts";

const OPERATION = { type: 0, keyspace: 0 };
const DELETE = { ...OPERATION, key: 0 };
const PUT = { ...DELETE, value: 0 };

/**
 * Encodes operations in their order. `named` returns a keyspace's number and encodings, or undefined if it
 * is not one of this store.
 */
export function encodeBatch<M extends Mode>(
  encoder: Encoder,
  operations: Iterable<BatchOperation<M, Encoding, Encoding>>,
  own: Named,
  named: (keyspace: unknown) => Named | undefined,
): void {
  const iterable = typeof operations?.[Symbol.iterator] === "function";
  check("batch", operations, iterable, "an array of operations");
  for (const operation of operations) {
    const keyspace: unknown = operation?.keyspace;
    const target = keyspace === undefined ? own : named(keyspace);
    if (target === undefined) throw invalid("batch", "keyspaces of this store", keyspace);
    const { keyspace: number, keyEncoding, valueEncoding } = target;
    const key = (given: unknown) => toBytes("key", given, keyEncoding);
    if (operation?.type === "put") {
      checkFields("batch", operation, PUT, EXPIRY);
      const value = toBytes("value", operation.value, valueEncoding);
      encoder.put(number, key(operation.key), value, toExpiry(operation, now()));
    } else if (operation?.type === "delete") {
      checkFields("batch", operation, DELETE);
      encoder.delete(number, key(operation.key));
    } else if (operation?.type === "merge") {
      checkFields("batch", operation, DELETE, OPERAND);
      encoder.merge(number, key(operation.key), toMerge(operation));
    } else if (operation?.type === "deleteRange") {
      checkFields("batch", operation, OPERATION, RANGE);
      encoder.deleteSpan(number, toSpan(operation, keyEncoding));
    } else {
      const { type = operation } = (operation ?? {}) as { type?: unknown };
      const types = 'operations of type "put", "delete", "deleteRange" or "merge"';
      throw invalid("batch", types, type);
    }
  }
}
