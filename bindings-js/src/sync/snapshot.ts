/** Snapshots, which the engine holds until they are released. */

import type { Encoding } from "../api/data.ts";
import type { KeyspaceOf, SnapshotOf } from "../api/store.ts";
import { check } from "../codec/validate.ts";
import { notForgotten, onForgotten } from "../shared/finalization.ts";
import type { Context } from "./context.ts";
import { Keyspace } from "./keyspace.ts";
import { Reader, type Scope } from "./reader.ts";

export class Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements SnapshotOf<"sync", K, V>
{
  /** @internal */
  constructor(scope: Scope<K, V>) {
    super(scope);
    const { context, snapshot } = scope;
    onForgotten(this, () => releaseForgotten(context, snapshot));
  }

  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<"sync", KE, VE>,
  ): Reader<KE, VE> {
    const { context, snapshot } = this.scope;
    const isOwn = keyspace instanceof Keyspace && keyspace.scope.context === context;
    check("keyspace", keyspace, isOwn, "one of this store");
    const { scope } = keyspace as Keyspace<KE, VE>;
    return new Reader({ ...scope, snapshot, owner: this });
  }

  release(): void {
    const { context, snapshot } = this.scope;
    notForgotten(this);
    // Closing the store has released its snapshots.
    if (!context.engine.closed) context.engine.call((store) => store.release(snapshot));
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

function releaseForgotten({ engine, listeners, name }: Context, snapshot: number): void {
  if (engine.closed) return;
  engine.call((store) => store.release(snapshot));
  listeners.reportForgotten(name);
}
