/** A store in the worker that holds it. */

import type { Encoding } from "../api/data.ts";
import type { KeyspaceOf, ReaderOf, SnapshotOf, TransactionOf } from "../api/store.ts";
import { Store } from "../store/store.ts";

export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Store<"sync", K, V>
  implements Disposable
{
  /** Closes the store at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** A named LSM tree of a store. */
export type Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8"> = KeyspaceOf<
  "sync",
  K,
  V
>;

/** Reads from one keyspace, in its current state or in a snapshot. */
export type Reader<K extends Encoding = "utf8", V extends Encoding = "utf8"> = ReaderOf<
  "sync",
  K,
  V
>;

/** All keyspaces of a store at one point in time. */
export type Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8"> = SnapshotOf<
  "sync",
  K,
  V
>;

/** A transaction under way. */
export type Transaction<K extends Encoding = "utf8", V extends Encoding = "utf8"> = TransactionOf<
  "sync",
  K,
  V
>;
