/**
 * The change feed: whole batches after a cursor, in order, each once.
 *
 * 1. A watch of every batch starts. Pages of the feed are read from the cursor on, until one is empty.
 * 2. Then the watch waits for a batch, and a moment longer for more of them. Reading the next page makes them durable.
 * 3. Each page is requested by the cursor after the one before. So a store that gets another worker continues, whoever
 *    leads.
 * 4. Batches have the engine's ids of keyspaces, whose names are in each page. An id without a name is that of a
 *    keyspace that the package keeps for itself.
 */

import type { ChangeBatch } from "../api/changes.ts";
import type { Encoding } from "../api/data.ts";
import { ClosedError, InvalidArgumentError } from "../api/errors.ts";
import { Encoder, encodeSpan, type Span } from "../codec/encoder.ts";
import { batchesOf, compare, type Filter, keyspaceOf, operationsOf } from "../codec/feed.ts";
import { checkKeyspaceName } from "../codec/requests.ts";
import { check } from "../codec/validate.ts";
import { abortable } from "../shared/abort.ts";
import type { HeldWatch, Port } from "./port.ts";
import { nextChange } from "./watch.ts";

/** The keyspace of watches that every batch changes. */
const EVERY = 0xffff_ffff;
const ALL: Span = { from: new Uint8Array(), to: undefined };
/** Milliseconds between a batch and the page that makes it durable. */
const DELAY = 25;

/** Iterates over the batches after a cursor, or after the cursor `end` of the store as the iteration was requested. */
export async function* changes<K extends Encoding, V extends Encoding>(
  port: Port<any>,
  since: string | undefined,
  end: Promise<string>,
  filter: Filter<K, V>,
  signal: AbortSignal | undefined,
): AsyncGenerator<ChangeBatch<K, V>, void, undefined> {
  checkFilter(filter);
  check("since", since, since === undefined || typeof since === "string", "a cursor");
  const all = new Encoder();
  all.numbered(EVERY, encodeSpan(ALL));
  const call = <T>(start: () => T | Promise<T>): Promise<T> =>
    abortable(signal, async () => start());
  const names = new Map<number, string>();
  // Fails if the store was closed at the call; one that is closed later ends the iteration.
  const now = await call(() => end);
  let cursor = since ?? now;
  let held: HeldWatch | undefined;
  try {
    held = port.watch(all.bytes(), false, true);
    for (;;) {
      const page: Uint8Array = await call(() => port.invoke("feed", cursor));
      let isShown = true;
      let last = 0;
      for (const [sequence, bytes] of batchesOf(page)) {
        if (sequence === 0) {
          names.set(...keyspaceOf(bytes));
          continue;
        }
        const operations = operationsOf(bytes, filter, (id) => names.get(id));
        cursor = cursor.replace(/\d+$/, String(sequence));
        isShown = operations.length > 0;
        last = sequence;
        if (isShown) yield { cursor, sequence, operations };
      }
      // A subscriber that filters continues from here.
      if (!isShown) yield { cursor, sequence: last, operations: [] };
      if (page.length > 0) continue;
      if ((await nextChange(held, undefined, signal)) === undefined) return;
      await call(() => new Promise((resolve) => setTimeout(resolve, DELAY)));
    }
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error;
  } finally {
    held?.close();
  }
}

/** Throws if no batch can pass. */
function checkFilter({ keyspace, span: { from, to } }: Filter<Encoding, Encoding>): void {
  if (keyspace !== undefined) checkKeyspaceName(keyspace);
  else if (from.length > 0 || to !== undefined) {
    throw new InvalidArgumentError("options: expected a keyspace with a range, found none");
  }
  if (to !== undefined && compare(from, to) >= 0) {
    throw new InvalidArgumentError("range: expected one that can have keys, found an empty one");
  }
}
