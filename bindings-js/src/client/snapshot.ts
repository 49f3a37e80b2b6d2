/** Snapshots, which the worker holds until they are released. */

import type { Encoding } from "../api/data.ts";
import type { KeyspaceOf, SnapshotOf } from "../api/store.ts";
import { check } from "../codec/validate.ts";
import { notForgotten, onForgotten } from "../shared/finalization.ts";
import { Keyspace } from "./keyspace.ts";
import { Reader, type Scope } from "./reader.ts";
import type { Resource } from "./session.ts";

export class Snapshot<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements SnapshotOf<"async", K, V>
{
  readonly #resource: Resource;

  /** @internal */
  constructor(scope: Scope<K, V>) {
    super(scope);
    const { session, snapshot } = scope;
    const resource = session.hold({ op: "call", method: "release", args: [snapshot] });
    this.#resource = resource;
    onForgotten(this, () => {
      resource.release();
      session.reportForgotten();
    });
  }

  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<"async", KE, VE>,
  ): Reader<KE, VE> {
    const { session, snapshot } = this.scope;
    const isOwn = keyspace instanceof Keyspace && keyspace.scope.session.isSameStore(session);
    check("keyspace", keyspace, isOwn, "one of this store");
    const { scope } = keyspace as Keyspace<KE, VE>;
    return new Reader({ ...scope, snapshot, owner: this });
  }

  release(): void {
    notForgotten(this);
    this.#resource.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
