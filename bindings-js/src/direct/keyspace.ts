/** Keyspaces: trees with policies of their own, in one store. */

import { type BatchOperation, packOperations } from "../batch.ts";
import { type Durability, toDurability, type WriteOptions } from "../options.ts";
import {
  type Bytes,
  type Encoding,
  type Packer,
  packRange,
  type RangeOptions,
} from "../packing.ts";
import { packPolicy, type Policy, type PolicyOptions } from "../policies.ts";
import { type Level, parse } from "../stats.ts";
import { complete } from "../steps.ts";
import { Reader, type Scope } from "./reader.ts";

/** A named tree of a store, with a policy of its own. */
export class Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8"> extends Reader<
  K,
  V
> {
  /** Its name; of a store, the store's. */
  readonly name: string;
  readonly #durability: Durability;

  /** @internal */
  constructor(name: string, scope: Scope<K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#durability = durability;
  }

  /** Sets the value of a key. Returns the write's sequence, greater than those of all before. */
  put(key: Bytes, value: Bytes, options: WriteOptions = {}): number {
    return this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  /** Removes a key, which need not be there. Returns the write's sequence. */
  delete(key: Bytes, options: WriteOptions = {}): number {
    return this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  /**
   * Writes all operations, in order, or none; they may name other keyspaces of the store. Returns the
   * batch's sequence; of an empty one, the last before it.
   */
  batch(
    operations: Iterable<BatchOperation<Keyspace<Encoding, Encoding>>>,
    options: WriteOptions = {},
  ): number {
    const { core } = this.scope;
    return this.#write(options, (batch, own) => {
      packOperations(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && other.scope.core === core;
        return mine ? other.scope.keyspace : undefined;
      });
    });
  }

  /** The levels of the tree, with their runs and tables. */
  levels(): Level[] {
    const { core, keyspace } = this.scope;
    const shape = core.engine.call((store) => store.levels(keyspace));
    return parse<{ levels: Level[] }>(shape).levels;
  }

  /** The compaction policy, with all its parameters. */
  policy(): Required<PolicyOptions> {
    const { core, keyspace } = this.scope;
    return JSON.parse(core.engine.call((store) => store.policy(keyspace)));
  }

  /** Gives the keyspace another compaction policy; the next compactions move the tree towards it. */
  setPolicy(policy: Policy): void {
    const { core, keyspace } = this.scope;
    core.engine.call((store) => store.set_policy(keyspace, packPolicy(policy)));
    core.engine.askTurn();
  }

  /** About how many bytes of tables hold the keys of a range; what is in memory does not count. */
  approximateSize(range: RangeOptions = {}): number {
    const { core, keyspace } = this.scope;
    return core.engine.call((store) => store.approximate_size(keyspace, packRange(range)));
  }

  /** Merges what lies in a range into one run, without what no reader can see any more. */
  compactRange(range: RangeOptions = {}): void {
    const { core, keyspace } = this.scope;
    complete(core.engine, (store) => store.compact_range(keyspace, packRange(range)));
  }

  #write(options: WriteOptions, fill: (batch: Packer, keyspace: number) => void): number {
    const { core, keyspace } = this.scope;
    const sync = toDurability(options, this.#durability) === "sync";
    return core.write(sync, (batch) => fill(batch, keyspace));
  }
}
