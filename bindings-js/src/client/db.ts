/** A store in a page. */

import type { Encoding } from "../api/data.ts";
import type { Role } from "../api/events.ts";
import type { KeyspaceOf, ReaderOf, SnapshotOf, TransactionOf } from "../api/store.ts";
import type { Defaults } from "../codec/requests.ts";
import { Store } from "../store/store.ts";
import { checkFiles } from "./here.ts";
import type { Session } from "./session.ts";

export class Db<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Store<"async", K, V>
  implements AsyncDisposable
{
  readonly #port: Session;

  /** @internal */
  constructor(name: string, port: Session, defaults: Defaults<K, V>) {
    super(name, port, defaults);
    this.#port = port;
  }

  /**
   * Whether this page's worker has the store, or that of another page of the origin; `"none"` while neither has.
   * The event `role-changed` reports a change.
   */
  get role(): Role {
    return this.#port.role;
  }

  /** Returns the storage in use by this origin, and its quota, in bytes. */
  async estimate(): Promise<{ usage: number; quota: number }> {
    await checkFiles();
    const { usage = 0, quota = 0 } = await navigator.storage.estimate();
    return { usage, quota };
  }

  /** Asks the browser not to evict this origin's data when storage runs low; returns its decision. */
  async persist(): Promise<boolean> {
    await checkFiles();
    return navigator.storage.persist();
  }

  /** Closes the store at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A named LSM tree of a store. */
export type Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8"> = KeyspaceOf<
  "async",
  K,
  V
>;

/** Reads from one keyspace, in its current state or in a snapshot. */
export type Reader<K extends Encoding = "utf8", V extends Encoding = "utf8"> = ReaderOf<
  "async",
  K,
  V
>;

/** All keyspaces of a store at one point in time. */
export type Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8"> = SnapshotOf<
  "async",
  K,
  V
>;

/** A transaction under way. */
export type Transaction<K extends Encoding = "utf8", V extends Encoding = "utf8"> = TransactionOf<
  "async",
  K,
  V
>;
