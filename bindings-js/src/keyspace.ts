/** Keyspaces: trees with policies of their own, in one store. */

import type { WaitOptions } from "./abort.ts";
import { type BatchOperation, packOperations } from "./batch.ts";
import { type Durability, toDurability, type WriteOptions as Write } from "./options.ts";
import { type Bytes, type Encoding, type Packer, packRange, type RangeOptions } from "./packing.ts";
import { packPolicy, type Policy, type PolicyOptions } from "./policies.ts";
import { Reader, type Scope } from "./reader.ts";
import { type Level, parse } from "./stats.ts";

/** Options of a write. */
export interface WriteOptions extends Write, WaitOptions {}

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

  /**
   * Sets the value of a key. Returns the write's sequence, greater than those of all writes before;
   * writes that travel together share one.
   */
  async put(key: Bytes, value: Bytes, options: WriteOptions = {}): Promise<number> {
    return await this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  /** Removes a key, which need not be there. Returns the write's sequence. */
  async delete(key: Bytes, options: WriteOptions = {}): Promise<number> {
    return await this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  /**
   * Writes all operations, in order, or none; they may name other keyspaces of the store. Returns the
   * batch's sequence; of an empty one, the last before it.
   */
  async batch(
    operations: Iterable<BatchOperation<Keyspace<Encoding, Encoding>>>,
    options: WriteOptions = {},
  ): Promise<number> {
    const { session } = this.scope;
    return await this.#write(options, (batch, own) => {
      packOperations(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && other.scope.session.isSameStore(session);
        return mine ? other.scope.keyspace : undefined;
      });
    });
  }

  /** The levels of the tree, with their runs and tables. */
  async levels(options: WaitOptions = {}): Promise<Level[]> {
    const shape = await this.ask(options, "levels", this.scope.keyspace);
    return parse<{ levels: Level[] }>(shape).levels;
  }

  /** The compaction policy, with all its parameters. */
  async policy(options: WaitOptions = {}): Promise<Required<PolicyOptions>> {
    return JSON.parse(await this.ask(options, "policy", this.scope.keyspace));
  }

  /** Gives the keyspace another compaction policy; the next compactions move the tree towards it. */
  async setPolicy(policy: Policy, options: WaitOptions = {}): Promise<void> {
    await this.ask(options, "set_policy", this.scope.keyspace, packPolicy(policy));
  }

  /** About how many bytes of tables hold the keys of a range; what is in memory does not count. */
  async approximateSize(options: RangeOptions & WaitOptions = {}): Promise<number> {
    return await this.ask(options, "approximate_size", this.scope.keyspace, packRange(options));
  }

  /**
   * Merges what lies in a range into one run, without what no reader can see any more. Other calls are
   * served meanwhile.
   */
  async compactRange(options: RangeOptions & WaitOptions = {}): Promise<void> {
    await this.ask(options, "compact_range", this.scope.keyspace, packRange(options));
  }

  async #write(
    options: WriteOptions,
    fill: (batch: Packer, keyspace: number) => void,
  ): Promise<number> {
    const { keyspace, session } = this.scope;
    const sync = toDurability(options, this.#durability) === "sync";
    return await this.run(options, () => session.write(sync, (batch) => fill(batch, keyspace)));
  }
}
