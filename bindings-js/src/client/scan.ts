/**
 * Iteration over a range in key order.
 *
 * 1. The call starts a scan in the worker, which shows the store as it was then.
 * 2. Entries arrive in pages. The message of the call requests the first; while the caller consumes a page, the next
 *    one is already requested.
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

/** The rows of the current page that are left. */
interface DecodedPage<T> {
  rows: Iterator<T>;
}

const NONE: Iterator<never> = [].values();

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
  const requestPage = (bytes: number) => {
    const page = run(() => caller.call({ op: "page", scan, bytes, keys, values }) as Promise<Page>);
    // The step that needs it throws its error.
    ignoreResult(page);
    return page;
  };
  const decoded: DecodedPage<T> = { rows: NONE };
  const iteration = started(pages(starting, requestPage, projection, resource, decoded));
  onForgotten(iteration, resource.release);
  return withDirectRows(iteration, decoded);
}

async function* pages<T>(
  starting: Promise<unknown>,
  requestPage: (bytes: number) => Promise<Page>,
  { decode }: Projection<T>,
  resource: Resource,
  decoded: DecodedPage<T>,
): AsyncGenerator<T, void, undefined> {
  let done = false;
  try {
    let next = requestPage(FIRST_PAGE_BYTES);
    yield undefined as never;
    await starting;
    while (!done) {
      const page = await next;
      done = page.done;
      if (!done) next = requestPage(PAGE_BYTES);
      const all: Iterable<T> & { some?: T[]["some"] } = decode(page.bytes);
      const rows = all[Symbol.iterator]();
      // A generator awaits what an encoding decodes asynchronously.
      if (!all.some?.((row) => row instanceof Promise)) decoded.rows = rows;
      for (let row = rows.next(); !row.done; row = rows.next()) yield row.value;
    }
  } finally {
    decoded.rows = NONE;
    if (done) resource.forget();
    else resource.release();
  }
}

/**
 * Lets `next` return a decoded row without the generator, since resuming an async generator takes several promises a
 * row, which cost more than decoding the row.
 */
function withDirectRows<T>(
  iteration: AsyncGenerator<T, void, undefined>,
  decoded: DecodedPage<T>,
): AsyncGenerator<T, void, undefined> {
  /** Pending calls of the generator. Later calls queue behind them there, so that rows keep their order. */
  let calls = 0;
  const settle = () => void calls--;
  const tracked =
    <A extends unknown[]>(call: (...args: A) => Promise<IteratorResult<T, void>>) =>
    (...args: A) => {
      calls++;
      const result = call.apply(iteration, args);
      result.then(settle, settle);
      return result;
    };
  const resume = tracked(iteration.next);
  const fail = tracked(iteration.throw);
  const next = () => {
    if (calls > 0) return resume();
    try {
      const row = decoded.rows.next();
      return row.done ? resume() : Promise.resolve(row);
    } catch (error) {
      return fail(error);
    }
  };
  return Object.assign(iteration, { next, return: tracked(iteration.return), throw: fail });
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
