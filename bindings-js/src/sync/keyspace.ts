/** Keyspaces: reads, writes and administration of one tree. */

import type { Bytes, Encoding, RangeOptions } from "../api/data.ts";
import type { Durability, WriteOptions } from "../api/options.ts";
import type { Policy, PolicyOptions } from "../api/policies.ts";
import type { Level } from "../api/stats.ts";
import type { BatchOperation, KeyspaceOf } from "../api/store.ts";
import { deletes, encodeBatch } from "../codec/batch.ts";
import { type Encoder, encodeRange } from "../codec/encoder.ts";
import { fromJson } from "../codec/json.ts";
import { checked, RANGE, WRITE } from "../codec/options.ts";
import { toDurability, toPolicy } from "../codec/requests.ts";
import { runToEnd } from "../engine/tasks.ts";
import { type Calls, clear, run } from "../shared/clear.ts";
import { Reader, type Scope } from "./reader.ts";

export class Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements KeyspaceOf<"sync", K, V>
{
  readonly name: string;
  readonly #durability: Durability;

  /** @internal */
  constructor(name: string, scope: Scope<K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#durability = durability;
  }

  put(key: Bytes, value: Bytes, options: WriteOptions = {}): number {
    return this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  delete(key: Bytes, options: WriteOptions = {}): number {
    return this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  batch(operations: Iterable<BatchOperation<"sync">>, options: WriteOptions = {}): number {
    const { context } = this.scope;
    return this.#write(options, (batch, own) => {
      encodeBatch(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && other.scope.context === context;
        return mine ? other.scope.keyspace : undefined;
      });
    });
  }

  clear(options: RangeOptions & WriteOptions = {}): number {
    const { durability, ...range } = checked(options, RANGE, WRITE);
    const calls: Calls = {
      keys: (rest, limit) => [...this.keys({ ...rest, limit, keyEncoding: "binary" })],
      remove: (keys, when) => this.batch(deletes(keys), { durability: when }),
    };
    return run(clear(calls, range, toDurability({ durability }, this.#durability)));
  }

  levels(): Level[] {
    const { context, keyspace } = this.scope;
    const shape = context.engine.call((store) => store.levels(keyspace));
    return fromJson<{ levels: Level[] }>(shape).levels;
  }

  policy(): PolicyOptions {
    const { context, keyspace } = this.scope;
    return fromJson(context.engine.call((store) => store.policy(keyspace)));
  }

  setPolicy(policy: Policy): void {
    const { context, keyspace } = this.scope;
    context.engine.call((store) => store.set_policy(keyspace, toPolicy(policy)));
    context.engine.scheduleTurn();
  }

  approximateSize(range: RangeOptions = {}): number {
    const { context, keyspace } = this.scope;
    const bytes = encodeRange(checked(range, RANGE));
    return context.engine.call((store) => store.approximate_size(keyspace, bytes));
  }

  compactRange(range: RangeOptions = {}): void {
    const { context, keyspace } = this.scope;
    const bytes = encodeRange(checked(range, RANGE));
    runToEnd(context.engine, (store) => store.compact_range(keyspace, bytes));
  }

  #write(options: WriteOptions, fill: (batch: Encoder, keyspace: number) => void): number {
    const { context, keyspace } = this.scope;
    const sync = toDurability(checked(options, WRITE), this.#durability) === "sync";
    return context.write(sync, (batch) => fill(batch, keyspace));
  }
}
