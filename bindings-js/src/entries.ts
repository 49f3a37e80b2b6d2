/**
 * Iteration over a range, in key order.
 *
 * 1. The first step begins a scan in the worker, which keeps seeing the store as it is then.
 * 2. Entries come in pages; while the caller consumes one, the next is already on its way.
 * 3. The scan ends with its last page, or when the caller leaves the loop.
 */

import type { WaitOptions } from "./abort.ts";
import type { Connection } from "./connection.ts";
import { type Decoded, decode, type Encoding, unpack } from "./packing.ts";
import type { Counted, Page, ScanRequest } from "./protocol.ts";
import type { Reader } from "./reader.ts";

/** A page's size: the first is small, so that it comes soon. */
export const FIRST_PAGE_BYTES: number = 16 << 10;
export const PAGE_BYTES: number = 256 << 10;
/** How many entries are counted in one step. */
export const COUNT_STEP = 100_000;

/** Names scans; unique in this page, so that a worker started later knows none of them. */
let nextScan = 1;

/** An entry as an iteration gives it. */
export type Entry<K extends Encoding, V extends Encoding> = [key: Decoded<K>, value: Decoded<V>];

/** What an iteration gives of each entry, and how it lies in a page. */
export interface Part<T> {
  keys: boolean;
  values: boolean;
  read(page: Uint8Array): Iterable<T>;
}

/** Keys alone, or values alone. */
export function single<E extends Encoding>(of: "keys" | "values", encoding: E): Part<Decoded<E>> {
  return {
    keys: of === "keys",
    values: of === "values",
    *read(page) {
      for (const bytes of unpack(page)) yield decode(bytes as Uint8Array, encoding);
    },
  };
}

/** Keys with their values. */
export function pairs<K extends Encoding, V extends Encoding>(
  keyEncoding: K,
  valueEncoding: V,
): Part<Entry<K, V>> {
  return {
    keys: true,
    values: true,
    *read(page) {
      const strings = unpack(page) as Uint8Array[];
      for (let i = 0; i < strings.length; i += 2) {
        const [key, value] = [strings[i], strings[i + 1]] as [Uint8Array, Uint8Array];
        yield [decode(key, keyEncoding), decode(value, valueEncoding)];
      }
    },
  };
}

/** Reads a part of the entries that a scan gives. */
export async function* walk<T>(
  reader: Reader<Encoding, Encoding>,
  request: ScanRequest,
  part: Part<T>,
  wait: WaitOptions,
): AsyncGenerator<T, void, undefined> {
  const { connection } = reader.scope;
  const scan = nextScan++;
  const { keys, values } = part;
  const page = (bytes: number) =>
    connection.call({ op: "page", scan, bytes, keys, values }) as Promise<Page>;
  const begin = () => {
    const begun = connection.call({ op: "scan", scan, ...request });
    return Promise.all([begun, page(FIRST_PAGE_BYTES)]).then(([, first]) => first);
  };
  let coming = reader.run(wait, begin);
  let done = false;
  try {
    while (!done) {
      const current = await coming;
      done = current.done;
      if (!done) {
        coming = reader.run(wait, () => page(PAGE_BYTES));
        // Its failure is told when the caller gets there.
        coming.catch(() => undefined);
      }
      yield* part.read(current.strings);
    }
  } finally {
    if (!done) connection.call({ op: "endScan", scan }).catch(() => undefined);
  }
}

/** Counts the entries of a scan, step by step, so that other calls are served in between. */
export async function count(
  connection: Connection,
  request: ScanRequest,
  signal: AbortSignal | undefined,
): Promise<number> {
  const scan = nextScan++;
  const step = () =>
    connection.call({ op: "count", scan, entries: COUNT_STEP }) as Promise<Counted>;
  const begun = connection.call({ op: "scan", scan, ...request });
  let [, counted] = await Promise.all([begun, step()]);
  let total = counted.entries;
  while (!counted.done) {
    if (signal?.aborted) {
      void connection.call({ op: "endScan", scan }).catch(() => undefined);
      return total;
    }
    counted = await step();
    total += counted.entries;
  }
  return total;
}
