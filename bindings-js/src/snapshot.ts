/** Snapshots: a whole store as it was at one moment. */

import { check } from "./argument.ts";
import { Keyspace } from "./keyspace.ts";
import type { Encoding } from "./packing.ts";
import { Reader, type Scope } from "./reader.ts";

/** Releases, and reports, snapshots that were forgotten. */
const forgotten: FinalizationRegistry<() => void> = new FinalizationRegistry((report) => report());

/**
 * The whole store as it was at one moment: reads the default keyspace, and others through
 * `keyspace`. It keeps old versions from being dropped: release it when done.
 */
export class Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements Disposable
{
  /** @internal */
  constructor(scope: Scope<K, V>) {
    super(scope);
    const { connection, snapshot } = scope;
    forgotten.register(this, () => connection.forgot(snapshot), this);
  }

  /** The same moment in another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(keyspace: Keyspace<KE, VE>): Reader<KE, VE> {
    const { connection } = this.scope;
    const isOwn = keyspace instanceof Keyspace && keyspace.scope.connection === connection;
    check("keyspace", keyspace, isOwn, "one of this store");
    return new Reader({ ...keyspace.scope, snapshot: this.scope.snapshot, of: this });
  }

  /** Lets the store forget that moment. */
  release(): void {
    const { connection, snapshot } = this.scope;
    forgotten.unregister(this);
    connection.tell(connection.ask("release", snapshot));
  }

  /** Releases, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.release();
  }
}
