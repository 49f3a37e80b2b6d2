/**
 * Deletes a range in batches: each step is a call whose result the next one needs.
 *
 * Each batch has the next keys of the range as they are then. No snapshot is held meanwhile.
 */

import type { Bytes, RangeOptions } from "../api/data.ts";
import type { Durability } from "../api/options.ts";
import type { Steps } from "./port.ts";

/** The most keys that one batch deletes. */
const BATCH_KEYS = 1000;

/** Calls of clearing; in a page the results are promises. */
export interface Calls {
  /** Returns the first keys of a range. */
  keys(range: RangeOptions, limit: number): unknown;
  /** Deletes keys. */
  remove(keys: Uint8Array[], durability: Durability): unknown;
}

/** Deletes the keys of a range; returns how many. With `"sync"` all deletes are durable in the end. */
export function* clear(calls: Calls, range: RangeOptions, durability: Durability): Steps<number> {
  let deleted = 0;
  let gt: Bytes | undefined;
  for (;;) {
    const rest = gt === undefined ? range : { gt, lt: range.lt, lte: range.lte };
    const keys = (yield calls.keys(rest, BATCH_KEYS)) as Uint8Array[];
    const ended = keys.length < BATCH_KEYS;
    // The last batch makes those before it durable.
    yield calls.remove(keys, ended ? durability : "buffered");
    deleted += keys.length;
    if (ended) return deleted;
    gt = keys.at(-1);
  }
}
