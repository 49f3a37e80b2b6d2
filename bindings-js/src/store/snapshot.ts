/** Snapshots, which the engine holds until they are released. */

import type { Encoding } from "../api/data.ts";
import type { KeyspaceOf, Mode, ReaderOf, SnapshotOf } from "../api/store.ts";
import { ClosedError } from "../api/errors.ts";
import { invalid } from "../codec/validate.ts";
import { notForgotten, onForgotten } from "../shared/finalization.ts";
import { scopeOf } from "./keyspace.ts";
import type { HeldSnapshot } from "./port.ts";
import { Reader, type Scope } from "./reader.ts";

export class Snapshot<M extends Mode, K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<M, K, V>
  implements SnapshotOf<M, K, V>
{
  readonly #held: HeldSnapshot;

  /** @internal */
  constructor(scope: Scope<M, K, V>) {
    const held = scope.port.snapshot();
    super({ ...scope, snapshot: held.snapshot });
    this.#held = held;
    onForgotten(this, held.forgotten);
  }

  keyspace<KE extends Encoding, VE extends Encoding>(
    keyspace: KeyspaceOf<M, KE, VE>,
  ): ReaderOf<M, KE, VE> {
    const { port, snapshot, reads } = this.scope;
    const scope = scopeOf(keyspace, port) as Scope<M, KE, VE> | undefined;
    if (scope === undefined) throw invalid("keyspace", "one of this store", keyspace);
    return new Reader({ ...scope, snapshot, reads, owner: this });
  }

  release(): void {
    notForgotten(this);
    this.#held.release();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** Whether a read failed because its snapshot ended with the worker, so that its query can run again. */
export function isSnapshotEnded(error: unknown): boolean {
  return error instanceof ClosedError && error.message.startsWith("the snapshot ended");
}
