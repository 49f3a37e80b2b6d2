/** Keyspaces: reads, writes and administration of one tree. */

import type { Bytes, Encoding, RangeOptions } from "../api/data.ts";
import type { ClearOptions, Durability, PutOptions, WriteOptions } from "../api/options.ts";
import type { Policy, PolicyOptions } from "../api/policies.ts";
import type { Level } from "../api/stats.ts";
import type {
  BatchOperation,
  BatchOptions,
  CallOptions,
  Change,
  KeyspaceOf,
  Mode,
  Operand,
  Result,
  WatchOptions,
} from "../api/store.ts";
import { encodeBatch } from "../codec/batch.ts";
import { decodeOutcome, encodeConditions } from "../codec/conditions.ts";
import { Encoder, encodeRange, MAX_BATCH_BYTES, toSpan } from "../codec/encoder.ts";
import { fromJson } from "../codec/json.ts";
import { checkOperand, toMerge } from "../codec/operand.ts";
import { BATCH, CLEAR, EXPIRY, RANGE, WRITE } from "../codec/options.ts";
import { now, toDurability, toExpiry, toPolicy, toScan } from "../codec/requests.ts";
import { checkLength } from "../codec/validate.ts";
import { Reader, type Scope } from "./reader.ts";
import { watch } from "./watch.ts";

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

  put(key: Bytes, value: Bytes, options?: CallOptions<M, PutOptions>): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [WRITE, EXPIRY], (given: PutOptions) => {
      const sync = toDurability(given, this.#durability) === "sync";
      const expiresAt = toExpiry(given, now());
      return port.write(sync, (batch) => batch.put(keyspace, key, value, expiresAt), false);
    });
  }

  merge(key: Bytes, operand: Operand, options?: CallOptions<M, WriteOptions>): Result<M, number> {
    return this.#write(options, (batch, keyspace) => {
      checkOperand(operand);
      batch.merge(keyspace, key, toMerge(operand));
    });
  }

  delete(key: Bytes, options?: CallOptions<M, WriteOptions>): Result<M, number> {
    return this.#write(options, (batch, keyspace) => batch.delete(keyspace, key));
  }

  batch(
    operations: Iterable<BatchOperation<M>>,
    options?: CallOptions<M, BatchOptions<M>>,
  ): Result<M, number> {
    const { port, keyspace } = this.scope;
    const named = (other: unknown) => {
      const mine = other instanceof Keyspace && port.isSameStore(other.scope.port);
      return mine ? (other.scope as Scope<M, Encoding, Encoding>) : undefined;
    };
    const numberOf = (other: unknown) => named(other)?.keyspace;
    const fill = (batch: Encoder, own: number) => encodeBatch(batch, operations, own, numberOf);
    if (options?.if === undefined) return this.#write(options, fill, true);
    return this.call(options, [BATCH], (given: BatchOptions<M>) => {
      const sync = toDurability(given, this.#durability) === "sync";
      const snapshot = (of: unknown) => this.#snapshotNumber(of);
      const names = { keyspace: named, snapshot };
      const { bytes: conditions, encodings } = encodeConditions(given.if ?? [], this.scope, names);
      const batch = new Encoder();
      fill(batch, keyspace);
      checkLength("batch", batch.length, MAX_BATCH_BYTES);
      const outcome = port.invoke("write_if", conditions, batch.bytes(), sync);
      return port.map(outcome, (bytes) => decodeOutcome(bytes, encodings));
    });
  }

  deleteRange(options?: CallOptions<M, RangeOptions & WriteOptions>): Result<M, number> {
    return this.call(options, [RANGE, WRITE], ({ durability, signal, ...range }) => {
      const rest = signal === undefined ? { durability } : { durability, signal };
      const span = toSpan(range);
      return this.#write(rest as CallOptions<M, WriteOptions>, (batch, keyspace) =>
        batch.deleteSpan(keyspace, span),
      );
    });
  }

  clear(options?: CallOptions<M, ClearOptions>): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE, CLEAR, WRITE], (given: ClearOptions) => {
      const { range, reverse, limit } = toScan(this.scope, given);
      const sync = toDurability(given, this.#durability) === "sync";
      return port.map(port.invoke("clear", keyspace, range, reverse, limit, sync), Number);
    });
  }

  watch<KE extends Encoding = K>(
    options: WatchOptions<KE> = {},
  ): AsyncGenerator<Change<KE>, void, undefined> {
    return watch(this.scope, options);
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

  /** Returns the number of a snapshot of this store. */
  #snapshotNumber(of: unknown): number | undefined {
    if (!(of instanceof Reader)) return undefined;
    const { port, snapshot } = (of as Reader<M>).scope;
    return snapshot > 0 && port.isSameStore(this.scope.port) ? snapshot : undefined;
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
