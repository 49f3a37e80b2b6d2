/**
 * Iteration over a range in key order.
 *
 * 1. The call starts a scan in the worker, which shows the store as it was then.
 * 2. Entries arrive in pages, starting with the first `next`; while the caller consumes a page, the
 *    next one is already requested.
 * 3. The scan ends with its last page, when the caller leaves the loop, or when the garbage collector
 *    finds an iteration that was never finished.
 */

import { FIRST_PAGE_BYTES, PAGE_BYTES, type Projection } from "../codec/projection.ts";
import type { Counted, Page, RowsRequest, ScanRequest } from "../codec/protocol.ts";
import { ignoreResult } from "../shared/abort.ts";
import { onForgotten, started } from "../shared/finalization.ts";
import type { HeldCursor } from "../store/port.ts";
import type { Caller, Resource } from "./caller.ts";

/** Number of entries counted in one step. */
const COUNT_STEP = 100_000;

/** Numbers scans; unique in this page, so that none is mistaken for a scan of a later worker. */
let nextScan = 1;

/** Runs a call for a reader, which stays alive for as long as this does. */
type Run = <T>(start: () => Promise<T>) => Promise<T>;

/** Iterates over a projection of a scan's entries. */
export function iterate<T>(
  caller: Caller,
  request: ScanRequest,
  projection: Projection<T>,
  run: Run,
): AsyncGenerator<T, void, undefined> {
  const scan = nextScan++;
  const resource = caller.hold({ op: "endScan", scan });
  const starting = run(() => caller.call({ op: "scan", scan, ...request }));
  // The first step throws its error.
  ignoreResult(starting);
  const { keys, values } = projection;
  const next = (bytes: number) =>
    run(() => caller.call({ op: "page", scan, bytes, keys, values }) as Promise<Page>);
  const iteration = started(pages(starting, next, projection, resource));
  onForgotten(iteration, resource.release);
  return iteration;
}

async function* pages<T>(
  starting: Promise<unknown>,
  request: (bytes: number) => Promise<Page>,
  { decode }: Projection<T>,
  resource: Resource,
): AsyncGenerator<T, void, undefined> {
  let done = false;
  try {
    yield undefined as never;
    let next = Promise.all([starting, request(FIRST_PAGE_BYTES)]).then(([, first]) => first);
    while (!done) {
      const page = await next;
      done = page.done;
      if (!done) {
        next = request(PAGE_BYTES);
        // Its error is thrown when the caller gets there.
        ignoreResult(next);
      }
      // Rather than `yield*`, which waits for each row twice.
      for (const row of decode(page.bytes)) yield row;
    }
  } finally {
    if (done) resource.forget();
    else resource.release();
  }
}

/** Starts a scan for a cursor. */
export function openCursor(caller: Caller, request: ScanRequest): HeldCursor<"async"> {
  const scan = nextScan++;
  const { release } = caller.hold({ op: "endScan", scan });
  const starting = caller.call({ op: "scan", scan, ...request });
  // The first rows throw its error.
  ignoreResult(starting);
  const rows = async (request: RowsRequest) => {
    const page = caller.call({ op: "rows", scan, ...request });
    ignoreResult(page);
    await starting;
    return (await page) as Uint8Array;
  };
  return { rows, close: release };
}

/** Counts the entries of a scan step by step, so that other calls are served in between. */
export async function count(
  caller: Caller,
  request: ScanRequest,
  signal: AbortSignal | undefined,
): Promise<number> {
  const scan = nextScan++;
  const resource = caller.hold({ op: "endScan", scan });
  const step = () => caller.call({ op: "count", scan, entries: COUNT_STEP }) as Promise<Counted>;
  const starting = caller.call({ op: "scan", scan, ...request });
  try {
    let [, counted] = await Promise.all([starting, step()]);
    let total = counted.entries;
    while (!counted.done && !signal?.aborted) {
      counted = await step();
      total += counted.entries;
    }
    if (counted.done) resource.forget();
    return total;
  } finally {
    resource.release();
  }
}
