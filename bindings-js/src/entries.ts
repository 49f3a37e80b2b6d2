/**
 * Iteration over a range, in key order.
 *
 * 1. The first step begins a scan in the worker, which keeps seeing the store as it is then.
 * 2. Entries come in pages; while the caller consumes one, the next is already on its way.
 * 3. The scan ends with its last page, or when the caller leaves the loop.
 */

import type { WaitOptions } from "./abort.ts";
import type { Connection } from "./connection.ts";
import type { Encoding } from "./packing.ts";
import { FIRST_PAGE_BYTES, PAGE_BYTES, type Part } from "./parts.ts";
import type { Counted, Page, ScanRequest } from "./protocol.ts";
import type { Reader } from "./reader.ts";

/** How many entries are counted in one step. */
const COUNT_STEP = 100_000;

/** Names scans; unique in this page, so that a worker started later knows none of them. */
let nextScan = 1;

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
    if (!done) connection.tell(connection.call({ op: "endScan", scan }));
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
      connection.tell(connection.call({ op: "endScan", scan }));
      return total;
    }
    counted = await step();
    total += counted.entries;
  }
  return total;
}
