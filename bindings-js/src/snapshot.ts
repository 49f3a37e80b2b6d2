/** Snapshots: a whole store as it was at one moment. */

import { check } from "./argument.ts";
import { wasRemembered, whenForgotten } from "./forgotten.ts";
import { Keyspace } from "./keyspace.ts";
import type { Encoding } from "./packing.ts";
import { Reader, type Scope } from "./reader.ts";
import type { Held } from "./session.ts";

/**
 * The whole store as it was at one moment: reads the default keyspace, and others through
 * `keyspace`. It keeps old versions from being dropped: release it when done.
 */
export class Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements Disposable
{
  readonly #held: Held;

  /** @internal */
  constructor(scope: Scope<K, V>) {
    super(scope);
    const { session, snapshot } = scope;
    const held = session.hold({ op: "call", method: "release", args: [snapshot] });
    this.#held = held;
    whenForgotten(this, () => {
      held.release();
      session.reportForgotten();
    });
  }

  /** The same moment in another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(keyspace: Keyspace<KE, VE>): Reader<KE, VE> {
    const { session } = this.scope;
    const isOwn = keyspace instanceof Keyspace && keyspace.scope.session.isSameStore(session);
    check("keyspace", keyspace, isOwn, "one of this store");
    return new Reader({ ...keyspace.scope, snapshot: this.scope.snapshot, of: this });
  }

  /** Lets the store forget that moment. */
  release(): void {
    wasRemembered(this);
    this.#held.release();
  }

  /** Releases, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.release();
  }
}
