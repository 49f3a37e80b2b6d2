/**
 * Iteration over a range, in key order.
 *
 * 1. The first step begins a scan in the worker, which keeps seeing the store as it is then.
 * 2. Entries come in pages; while the caller consumes one, the next is already on its way.
 * 3. The scan ends with its last page, or when the caller leaves the loop.
 */

import type { Connection } from "./connection.ts";
import { InvalidArgumentError } from "./errors.ts";
import { type Bytes, type Decoded, decode, type Encoding, encodeKey, unpack } from "./packing.ts";
import type { Counted, Page, Range } from "./protocol.ts";

/** A page's size: the first is small, so that it comes soon. */
const FIRST_PAGE_BYTES = 16 << 10;
const PAGE_BYTES = 256 << 10;
/** How many entries are counted in one step. */
const COUNT_STEP = 100_000;

/** Names scans; unique in this page, so that a worker started later knows none of them. */
let nextScan = 1;

/** Bounds of an iteration; of `gte` and `gt`, and of `lte` and `lt`, at most one. */
export interface RangeOptions {
  /** The first key, included. */
  gte?: Bytes;
  /** The first key, excluded. */
  gt?: Bytes;
  /** The last key, included. */
  lte?: Bytes;
  /** The last key, excluded. */
  lt?: Bytes;
}

/** An entry as an iteration gives it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** Encodes bounds and limit. */
export function toRange(options: RangeOptions & { reverse?: boolean; limit?: number }): Range {
  const { gte, gt, lte, lt, reverse = false, limit = Infinity } = options;
  if (gte !== undefined && gt !== undefined) {
    throw new InvalidArgumentError("range: expected one of gte and gt, found both");
  }
  if (lte !== undefined && lt !== undefined) {
    throw new InvalidArgumentError("range: expected one of lte and lt, found both");
  }
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw new InvalidArgumentError(`limit: expected a whole number from 0, found ${limit}`);
  }
  const from = gte ?? gt;
  const to = lte ?? lt;
  return {
    from: from === undefined ? undefined : encodeKey(from),
    fromInclusive: gte !== undefined,
    to: to === undefined ? undefined : encodeKey(to),
    toInclusive: lte !== undefined,
    reverse,
    limit,
  };
}

/** Reads the entries of `range`. */
export async function* entries<K extends Encoding, V extends Encoding>(
  connection: Connection,
  range: Range,
  keyEncoding: K,
  valueEncoding: V,
): AsyncGenerator<Entry<K, V>, void, undefined> {
  const scan = nextScan++;
  const page = (bytes: number) => connection.call({ op: "page", scan, bytes }) as Promise<Page>;
  const begun = connection.call({ op: "scan", scan, ...range });
  let coming = Promise.all([begun, page(FIRST_PAGE_BYTES)]).then(([, first]) => first);
  let done = false;
  try {
    while (!done) {
      const current = await coming;
      done = current.done;
      if (!done) {
        coming = page(PAGE_BYTES);
        // Its failure is told when the caller gets there.
        coming.catch(() => undefined);
      }
      const strings = unpack(current.pairs);
      for (let i = 0; i < strings.length; i += 2) {
        const [key, value] = [strings[i], strings[i + 1]] as [Uint8Array, Uint8Array];
        yield [decode(key, keyEncoding), decode(value, valueEncoding)];
      }
    }
  } finally {
    if (!done) connection.call({ op: "endScan", scan }).catch(() => undefined);
  }
}

/** Counts the entries of `range`, step by step, so that other calls are served in between. */
export async function count(connection: Connection, range: Range): Promise<number> {
  const scan = nextScan++;
  const step = () =>
    connection.call({ op: "count", scan, entries: COUNT_STEP }) as Promise<Counted>;
  const begun = connection.call({ op: "scan", scan, ...range });
  let [, counted] = await Promise.all([begun, step()]);
  let total = counted.entries;
  while (!counted.done) {
    counted = await step();
    total += counted.entries;
  }
  return total;
}
