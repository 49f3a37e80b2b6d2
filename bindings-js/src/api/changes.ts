/** Changes: of a watched range, and the batches of the change feed. */

import type { Decoded, Encoding } from "./data.ts";

/** Changes of a watched range. */
export interface Change<K extends Encoding> {
  /** The sequence number of the latest of them. */
  sequence: number;
  /**
   * The keys that were written or deleted, in order; undefined if they are more than 1000 or take more than 64 KiB, if
   * a range was deleted, or if it is not known.
   */
  keys: Decoded<K>[] | undefined;
}

/** A batch of the change feed: operations that took effect together. */
export interface ChangeBatch<K extends Encoding, V extends Encoding> {
  /** The place after the batch: `since` it, the feed continues. */
  cursor: string;
  /** The sequence number of the batch. */
  sequence: number;
  /** Its operations in their order, as far as they were asked for; none if it only shows progress. */
  operations: ChangeOperation<K, V>[];
}

/** An operation of the change feed, with the name of its keyspace; the store's own is `"default"`. */
export type ChangeOperation<K extends Encoding, V extends Encoding> = { keyspace: string } & (
  | {
      type: "put";
      key: Decoded<K>;
      value: Decoded<V>;
      /** The time at which the value expires, in milliseconds since the epoch, if it does. */
      expiresAt?: number;
    }
  | { type: "delete"; key: Decoded<K> }
  | ({ type: "merge"; key: Decoded<K> } & (
      | { add: bigint }
      | { min: bigint }
      | { max: bigint }
      /** The operand of a native program's merge operator. */
      | { operand: Uint8Array<ArrayBuffer> }
    ))
  | {
      type: "deleteRange";
      /** The bytes of the first key, and those before which the range ends, if it does: neither need be a key. */
      gte: Uint8Array<ArrayBuffer>;
      lt?: Uint8Array<ArrayBuffer> | undefined;
    }
  /** The keyspace was dropped, with all its keys. One of the same name in later batches is another keyspace. */
  | { type: "dropKeyspace" }
);
