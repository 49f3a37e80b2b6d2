/** Batches, as a caller gives them. */

import { check, refused } from "./argument.ts";
import type { Bytes, Packer } from "./packing.ts";

/** One write of a batch. */
export type BatchOperation<Space> = (
  { type: "put"; key: Bytes; value: Bytes } | { type: "delete"; key: Bytes }
) & {
  /** Where. Default: the keyspace whose `batch` is called. */
  keyspace?: Space | undefined;
};

/** Packs operations in their order; `numberOf` knows the keyspaces of this store. */
export function packOperations<Space>(
  batch: Packer,
  operations: Iterable<BatchOperation<Space>>,
  own: number,
  numberOf: (keyspace: Space) => number | undefined,
): void {
  const iterable = typeof operations?.[Symbol.iterator] === "function";
  check("batch", operations, iterable, "an array of operations");
  for (const operation of operations) {
    const keyspace = operation?.keyspace;
    const number = keyspace === undefined ? own : numberOf(keyspace);
    if (number === undefined) throw refused("batch", "keyspaces of this store", keyspace);
    if (operation?.type === "put") batch.put(number, operation.key, operation.value);
    else if (operation?.type === "delete") batch.delete(number, operation.key);
    else {
      const { type = operation } = (operation ?? {}) as { type?: unknown };
      throw refused("batch", 'operations of type "put" or "delete"', type);
    }
  }
}
