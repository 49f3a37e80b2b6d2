/** Keyspaces: reads, writes and administration of one tree. */

import type { Bytes, Encoding, RangeOptions } from "../api/data.ts";
import type { Durability, WaitOptions, WriteOptions } from "../api/options.ts";
import type { Policy, PolicyOptions } from "../api/policies.ts";
import type { Level } from "../api/stats.ts";
import type { BatchOperation, KeyspaceOf } from "../api/store.ts";
import { deletes, encodeBatch } from "../codec/batch.ts";
import { Encoder, encodeRange } from "../codec/encoder.ts";
import { fromJson } from "../codec/json.ts";
import { checked, RANGE, WAIT, WRITE } from "../codec/options.ts";
import { toDurability, toPolicy } from "../codec/requests.ts";
import { type Calls, clear, runAsync } from "../shared/clear.ts";
import { Reader, type Scope } from "./reader.ts";

export class Keyspace<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<K, V>
  implements KeyspaceOf<"async", K, V>
{
  readonly name: string;
  readonly #durability: Durability;

  /** @internal */
  constructor(name: string, scope: Scope<K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#durability = durability;
  }

  async put(key: Bytes, value: Bytes, options: WriteOptions & WaitOptions = {}): Promise<number> {
    return await this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  async delete(key: Bytes, options: WriteOptions & WaitOptions = {}): Promise<number> {
    return await this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  async batch(
    operations: Iterable<BatchOperation<"async">>,
    options: WriteOptions & WaitOptions = {},
  ): Promise<number> {
    const { session } = this.scope;
    const encode = (batch: Encoder, own: number) =>
      encodeBatch(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && other.scope.session.isSameStore(session);
        return mine ? other.scope.keyspace : undefined;
      });
    return await this.#write(options, encode, true);
  }

  async clear(options: RangeOptions & WriteOptions & WaitOptions = {}): Promise<number> {
    const { durability, signal, ...range } = checked(options, RANGE, WRITE, WAIT);
    const calls: Calls = {
      keys: async (rest, limit) => {
        const keys: Uint8Array[] = [];
        const found = this.keys({ ...rest, limit, keyEncoding: "binary", signal });
        for await (const key of found) keys.push(key);
        return keys;
      },
      remove: (keys, when) => this.batch(deletes(keys), { durability: when, signal }),
    };
    return await runAsync(clear(calls, range, toDurability({ durability }, this.#durability)));
  }

  async levels(options: WaitOptions = {}): Promise<Level[]> {
    const shape = await this.invoke(options, "levels", this.scope.keyspace);
    return fromJson<{ levels: Level[] }>(shape).levels;
  }

  async policy(options: WaitOptions = {}): Promise<PolicyOptions> {
    return fromJson(await this.invoke(options, "policy", this.scope.keyspace));
  }

  async setPolicy(policy: Policy, options: WaitOptions = {}): Promise<void> {
    await this.invoke(options, "set_policy", this.scope.keyspace, toPolicy(policy));
  }

  async approximateSize(options: RangeOptions & WaitOptions = {}): Promise<number> {
    const { keyspace, session } = this.scope;
    const range = encodeRange(options);
    return await this.run(
      options,
      () => session.invoke("approximate_size", keyspace, range),
      RANGE,
    );
  }

  async compactRange(options: RangeOptions & WaitOptions = {}): Promise<void> {
    const { keyspace, session } = this.scope;
    const range = encodeRange(options);
    await this.run(options, () => session.invoke("compact_range", keyspace, range), RANGE);
  }

  /** Writes what `fill` encodes. If `fill` may call the store, the calls that it makes are sent first. */
  async #write(
    options: WriteOptions & WaitOptions,
    fill: (batch: Encoder, keyspace: number) => void,
    mayCall: boolean = false,
  ): Promise<number> {
    const { keyspace, session } = this.scope;
    const sync = toDurability(options, this.#durability) === "sync";
    const write = async () => {
      if (!mayCall) return session.write(sync, (batch) => fill(batch, keyspace));
      const own = new Encoder();
      fill(own, keyspace);
      return session.write(sync, (batch) => batch.add(own.bytes()));
    };
    return await this.run(options, write, WRITE);
  }
}
