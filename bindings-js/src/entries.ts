/**
 * Iteration over a range, in key order.
 *
 * 1. The call begins a scan in the worker, which keeps seeing the store as it is then.
 * 2. Entries come in pages, from the first step on; while the caller consumes one, the next is
 *    already on its way.
 * 3. The scan ends with its last page, when the caller leaves the loop, or when the garbage collector
 *    finds an iteration that nobody left.
 */

import type { WaitOptions } from "./abort.ts";
import { ignore } from "./connection.ts";
import { entered, whenForgotten } from "./forgotten.ts";
import type { Encoding } from "./packing.ts";
import { FIRST_PAGE_BYTES, PAGE_BYTES, type Part } from "./parts.ts";
import type { Counted, Page, ScanRequest } from "./protocol.ts";
import type { Reader } from "./reader.ts";
import type { Held, Session } from "./session.ts";

/** How many entries are counted in one step. */
const COUNT_STEP = 100_000;

/** Names scans; unique in this page, so that a worker started later knows none of them. */
let nextScan = 1;

/** Reads a part of the entries that a scan gives. */
export function walk<T>(
  reader: Reader<Encoding, Encoding>,
  request: ScanRequest,
  part: Part<T>,
  wait: WaitOptions,
): AsyncGenerator<T, void, undefined> {
  const { session } = reader.scope;
  const scan = nextScan++;
  const held = session.hold({ op: "endScan", scan });
  const begun = reader.run(wait, () => session.call({ op: "scan", scan, ...request }));
  // The first step fails with it.
  ignore(begun);
  const steps = entered(pages(reader, scan, begun, held, part, wait));
  whenForgotten(steps, held.release);
  return steps;
}

async function* pages<T>(
  reader: Reader<Encoding, Encoding>,
  scan: number,
  begun: Promise<unknown>,
  held: Held,
  { keys, values, read }: Part<T>,
  wait: WaitOptions,
): AsyncGenerator<T, void, undefined> {
  const page = (bytes: number) =>
    reader.run(wait, () => {
      const { session } = reader.scope;
      return session.call({ op: "page", scan, bytes, keys, values }) as Promise<Page>;
    });
  let done = false;
  try {
    yield undefined as never;
    let coming = Promise.all([begun, page(FIRST_PAGE_BYTES)]).then(([, first]) => first);
    while (!done) {
      const current = await coming;
      done = current.done;
      if (!done) {
        coming = page(PAGE_BYTES);
        // Its failure is thrown when the caller gets there.
        ignore(coming);
      }
      yield* read(current.strings);
    }
  } finally {
    if (done) held.forget();
    else held.release();
  }
}

/** Counts the entries of a scan, step by step, so that other calls are served in between. */
export async function count(
  session: Session,
  request: ScanRequest,
  signal: AbortSignal | undefined,
): Promise<number> {
  const scan = nextScan++;
  const held = session.hold({ op: "endScan", scan });
  const step = () => session.call({ op: "count", scan, entries: COUNT_STEP }) as Promise<Counted>;
  const begun = session.call({ op: "scan", scan, ...request });
  try {
    let [, counted] = await Promise.all([begun, step()]);
    let total = counted.entries;
    while (!counted.done && !signal?.aborted) {
      counted = await step();
      total += counted.entries;
    }
    if (counted.done) held.forget();
    return total;
  } finally {
    held.release();
  }
}
