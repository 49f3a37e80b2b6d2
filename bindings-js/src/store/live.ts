/**
 * Results of queries that follow what they have read.
 *
 * 1. A query reads a snapshot, which notes the ranges.
 * 2. A watch of these starts, and a batch without operations asks whether they have changed since the snapshot. So no
 *    change is missed.
 * 3. If they have changed, the query runs again; otherwise it does once the watch has a change. It also runs again if
 *    its snapshot ended with the worker.
 */

import type { Encoding } from "../api/data.ts";
import type { Mode, SnapshotOf } from "../api/store.ts";
import { abortable } from "../shared/abort.ts";
import type { HeldWatch } from "./port.ts";
import type { Scope } from "./reader.ts";
import { Reads } from "./reads.ts";
import { isSnapshotEnded, Snapshot } from "./snapshot.ts";
import { nextChange } from "./watch.ts";

/** The size of the outcome of conditions that hold. */
const HELD_BYTES = 8;

type Query<M extends Mode, K extends Encoding, V extends Encoding, T> = (
  reader: SnapshotOf<M, K, V>,
) => T | Promise<T>;

/** Iterates over the results of a query. */
export async function* live<M extends Mode, K extends Encoding, V extends Encoding, T>(
  scope: Scope<M, K, V>,
  query: Query<M, K, V, T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const { port } = scope;
  let held: HeldWatch | undefined;
  try {
    for (;;) {
      const reads = new Reads();
      const snapshot = new Snapshot({ ...scope, reads });
      let result: T;
      let isCurrent: boolean;
      try {
        result = await abortable(signal, async () => query(snapshot));
        held?.close();
        held = port.watch(reads.encode(), false);
        const conditions = reads.encodeUnchanged(snapshot.scope.snapshot);
        const outcome = await port.invoke("write_if", conditions, new Uint8Array(), false);
        isCurrent = outcome.length === HELD_BYTES;
      } catch (error) {
        if (!isSnapshotEnded(error)) throw error;
        continue;
      } finally {
        snapshot.release();
      }
      yield result;
      if (isCurrent && (await nextChange(held, undefined, signal)) === undefined) return;
    }
  } finally {
    held?.close();
  }
}
