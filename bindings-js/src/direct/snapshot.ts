/** Snapshots: a whole store as it was at one moment. */

import { check } from "../argument.ts";
import { wasRemembered, whenForgotten } from "../forgotten.ts";
import type { Encoding } from "../packing.ts";
import type { Core } from "./core.ts";
import { Keyspace } from "./keyspace.ts";
import { Reader, type Scope } from "./reader.ts";

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
    const { core, snapshot } = scope;
    whenForgotten(this, () => forgot(core, snapshot));
  }

  /** The same moment in another keyspace. */
  keyspace<KE extends Encoding, VE extends Encoding>(keyspace: Keyspace<KE, VE>): Reader<KE, VE> {
    const { core } = this.scope;
    const isOwn = keyspace instanceof Keyspace && keyspace.scope.core === core;
    check("keyspace", keyspace, isOwn, "one of this store");
    return new Reader({ ...keyspace.scope, snapshot: this.scope.snapshot, of: this });
  }

  /** Lets the store forget that moment. */
  release(): void {
    const { core, snapshot } = this.scope;
    wasRemembered(this);
    // With a store that was closed they are gone.
    if (!core.engine.closed) core.engine.call((store) => store.release(snapshot));
  }

  /** Releases, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.release();
  }
}

function forgot({ engine, listeners, name }: Core, snapshot: number): void {
  if (engine.closed) return;
  engine.call((store) => store.release(snapshot));
  listeners.forgot(name);
}
