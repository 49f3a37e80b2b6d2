/** Keyspaces: reads, writes and administration of one tree. */

import type { Bytes, Encoding, RangeOptions } from "../api/data.ts";
import type { Durability, WriteOptions } from "../api/options.ts";
import type { Policy, PolicyOptions } from "../api/policies.ts";
import type { Level } from "../api/stats.ts";
import type { BatchOperation, CallOptions, KeyspaceOf, Mode, Result } from "../api/store.ts";
import { encodeBatch } from "../codec/batch.ts";
import { type Encoder, encodeRange } from "../codec/encoder.ts";
import { fromJson } from "../codec/json.ts";
import { RANGE, WRITE } from "../codec/options.ts";
import { toDurability, toPolicy } from "../codec/requests.ts";
import { clear } from "./clear.ts";
import { Reader, type Scope } from "./reader.ts";

export class Keyspace<M extends Mode, K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends Reader<M, K, V>
  implements KeyspaceOf<M, K, V>
{
  readonly name: string;
  readonly #durability: Durability;

  /** @internal */
  constructor(name: string, scope: Scope<M, K, V>, durability: Durability) {
    super(scope);
    this.name = name;
    this.#durability = durability;
  }

  put(key: Bytes, value: Bytes, options?: CallOptions<M, WriteOptions>): Result<M, number> {
    return this.#write(options, (batch, keyspace) => batch.put(keyspace, key, value));
  }

  delete(key: Bytes, options?: CallOptions<M, WriteOptions>): Result<M, number> {
    return this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  batch(
    operations: Iterable<BatchOperation<M>>,
    options?: CallOptions<M, WriteOptions>,
  ): Result<M, number> {
    const { port } = this.scope;
    const fill = (batch: Encoder, own: number) =>
      encodeBatch(batch, operations, own, (other) => {
        const mine = other instanceof Keyspace && port.isSameStore(other.scope.port);
        return mine ? other.scope.keyspace : undefined;
      });
    return this.#write(options, fill, true);
  }

  clear(options?: CallOptions<M, RangeOptions & WriteOptions>): Result<M, number> {
    return this.call(options, [RANGE, WRITE], ({ durability, signal, ...range }) => {
      const waits = signal === undefined ? {} : { signal };
      const keys = (rest: RangeOptions, limit: number) => {
        const next = { ...rest, ...waits, limit, keyEncoding: "binary" } as const;
        return this.scope.port.collect(this.keys(next as CallOptions<M, typeof next>));
      };
      const remove = (removed: Uint8Array[], when: Durability) =>
        this.#write({ ...waits, durability: when } as CallOptions<M, WriteOptions>, (batch, own) =>
          removed.forEach((key) => batch.delete(own, key)),
        );
      const when = toDurability({ durability }, this.#durability);
      return this.scope.port.runSteps(clear({ keys, remove }, range, when));
    });
  }

  levels(options?: CallOptions<M>): Result<M, Level[]> {
    const { port, keyspace } = this.scope;
    return this.call(options, [], () =>
      port.map(
        port.invoke("levels", keyspace),
        (shape) => fromJson<{ levels: Level[] }>(shape).levels,
      ),
    );
  }

  policy(options?: CallOptions<M>): Result<M, PolicyOptions> {
    const { port, keyspace } = this.scope;
    return this.call(options, [], () =>
      port.map(port.invoke("policy", keyspace), fromJson<PolicyOptions>),
    );
  }

  setPolicy(policy: Policy, options?: CallOptions<M>): Result<M, void> {
    const { port, keyspace } = this.scope;
    return this.call(options, [], () => port.invoke("set_policy", keyspace, toPolicy(policy)));
  }

  approximateSize(options?: CallOptions<M, RangeOptions>): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE], (range) =>
      port.invoke("approximate_size", keyspace, encodeRange(range)),
    );
  }

  compactRange(options?: CallOptions<M, RangeOptions>): Result<M, void> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE], (range) =>
      port.invoke("compact_range", keyspace, encodeRange(range)),
    );
  }

  /** Writes what `fill` encodes, which may call the store if `mayCall`. */
  #write(
    options: CallOptions<M, WriteOptions> | undefined,
    fill: (batch: Encoder, keyspace: number) => void,
    mayCall: boolean = false,
  ): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [WRITE], (given: WriteOptions) => {
      const sync = toDurability(given, this.#durability) === "sync";
      return port.write(sync, (batch) => fill(batch, keyspace), mayCall);
    });
  }
}
