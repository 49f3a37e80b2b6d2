/** Keyspaces: reads, writes and administration of one tree. */

import type { Encodable, Encoding, Operand, RangeOptions } from "../api/data.ts";
import type {
  ClearOptions,
  Durability,
  Encodings,
  KeyOptions,
  PutOptions,
  WatchOptions,
  WriteOptions,
} from "../api/options.ts";
import type { Policy, PolicyOptions } from "../api/policies.ts";
import type { Level } from "../api/stats.ts";
import type {
  BatchOperation,
  BatchOptions,
  CallOptions,
  Change,
  KeyspaceOf,
  Mode,
  Result,
} from "../api/store.ts";
import { encodeBatch } from "../codec/batch.ts";
import { decodeOutcome, encodeConditions } from "../codec/conditions.ts";
import { Encoder, MAX_BATCH_BYTES } from "../codec/encoder.ts";
import { toBytes } from "../codec/encodings.ts";
import { checkOperand, toMerge } from "../codec/operand.ts";
import { BATCH, ENCODINGS, EXPIRY, KEY, LIMIT, RANGE, WRITE } from "../codec/options.ts";
import { now, toDurability, toExpiry, toPolicy, toScan } from "../codec/requests.ts";
import { toSpan } from "../codec/span.ts";
import { checkLength } from "../codec/validate.ts";
import type { Later, Port } from "./port.ts";
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

  put<KE extends Encoding = K, VE extends Encoding = V>(
    key: Encodable<KE>,
    value: Encodable<VE>,
    options?: CallOptions<M, PutOptions & Encodings<KE, VE>>,
  ): Result<M, number> {
    return this.#write(options, [EXPIRY, ENCODINGS], (given: PutOptions & Encodings<KE, VE>) => {
      const expiresAt = toExpiry(given, now());
      // Before the batch is filled, since an encoding may call the store.
      const bytes = this.key(key, given);
      const content = toBytes("value", value, this.valueEncoding(given));
      return (batch, keyspace) => batch.put(keyspace, bytes, content, expiresAt);
    });
  }

  merge<KE extends Encoding = K>(
    key: Encodable<KE>,
    operand: Operand,
    options?: CallOptions<M, WriteOptions & KeyOptions<KE>>,
  ): Result<M, number> {
    return this.#write(options, [KEY], (given: WriteOptions & KeyOptions<KE>) => {
      checkOperand(operand);
      const [bytes, merge] = [this.key(key, given), toMerge(operand)];
      return (batch, keyspace) => batch.merge(keyspace, bytes, merge);
    });
  }

  delete<KE extends Encoding = K>(
    key: Encodable<KE>,
    options?: CallOptions<M, WriteOptions & KeyOptions<KE>>,
  ): Result<M, number> {
    return this.#write(options, [KEY], (given: WriteOptions & KeyOptions<KE>) => {
      const bytes = this.key(key, given);
      return (batch, keyspace) => batch.delete(keyspace, bytes);
    });
  }

  batch(
    operations: Iterable<BatchOperation<M, K, V>>,
    options?: CallOptions<M, BatchOptions<M, K, V>>,
  ): Result<M, number> {
    const { port } = this.scope;
    const named = (other: unknown) => scopeOf(other, port);
    const fill = (batch: Encoder) => encodeBatch(batch, operations, this.scope, named);
    if (options?.if === undefined) return this.#write(options, [], () => fill, true);
    return this.call(options, [BATCH], (given: BatchOptions<M, K, V>) => {
      const sync = toDurability(given, this.#durability) === "sync";
      const snapshot = (of: unknown) => this.#snapshotNumber(of);
      const names = { keyspace: named, snapshot };
      const { bytes: conditions, encodings } = encodeConditions(given.if ?? [], this.scope, names);
      const batch = new Encoder();
      fill(batch);
      checkLength("batch", batch.length, MAX_BATCH_BYTES);
      const outcome = port.invoke("write_if", conditions, batch.bytes(), sync);
      return port.map(outcome, (bytes) => {
        const refused = ({ decodeConflicts }: Later) => {
          throw decodeConflicts(bytes, encodings);
        };
        return decodeOutcome(bytes) ?? port.map<Later, number>(port.later(), refused);
      });
    });
  }

  deleteRange(options?: CallOptions<M, RangeOptions<K> & WriteOptions>): Result<M, number> {
    return this.#write(options, [RANGE], (range: RangeOptions<K> & WriteOptions) => {
      const span = toSpan(range, this.scope.keyEncoding);
      return (batch, keyspace) => batch.deleteSpan(keyspace, span);
    });
  }

  clear(options?: CallOptions<M, ClearOptions<K>>): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE, LIMIT, WRITE], (given: ClearOptions<K>) => {
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
    const shape = this.report<{ levels: Level[] }>(options, "levels", keyspace);
    return port.map(shape, ({ levels }) => levels);
  }

  policy(options?: CallOptions<M>): Result<M, PolicyOptions> {
    return this.report(options, "policy", this.scope.keyspace);
  }

  setPolicy(policy: Policy, options?: CallOptions<M>): Result<M, void> {
    const { port, keyspace } = this.scope;
    return this.call(options, [], () => port.invoke("set_policy", keyspace, toPolicy(policy)));
  }

  approximateSize(options?: CallOptions<M, RangeOptions<K>>): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE], (range) =>
      port.invoke("approximate_size", keyspace, toScan(this.scope, range).range),
    );
  }

  compactRange(options?: CallOptions<M, RangeOptions<K>>): Result<M, void> {
    const { port, keyspace } = this.scope;
    return this.call(options, [RANGE], (range) =>
      port.invoke("compact_range", keyspace, toScan(this.scope, range).range),
    );
  }

  /** Returns the number of a snapshot of this store. */
  #snapshotNumber(of: unknown): number | undefined {
    if (!(of instanceof Reader)) return undefined;
    const { port, snapshot } = (of as Reader<M>).scope;
    return snapshot > 0 && port.isSameStore(this.scope.port) ? snapshot : undefined;
  }

  /** Writes what the function that `prepare` returns encodes, which may call the store if `mayCall`. */
  #write<O extends WriteOptions>(
    options: CallOptions<M, O> | undefined,
    lists: object[],
    prepare: (given: O) => (batch: Encoder, keyspace: number) => void,
    mayCall: boolean = false,
  ): Result<M, number> {
    const { port, keyspace } = this.scope;
    return this.call(options, [WRITE, ...lists], (given: O) => {
      const sync = toDurability(given, this.#durability) === "sync";
      const fill = prepare(given);
      return port.write(sync, (batch) => fill(batch, keyspace), mayCall);
    });
  }
}

/** Returns what a keyspace reads and writes; undefined if it is not one of the port's store. @internal */
export function scopeOf<M extends Mode>(
  keyspace: unknown,
  port: Port<M>,
): Scope<M, Encoding, Encoding> | undefined {
  const isOwn = keyspace instanceof Keyspace && port.isSameStore(keyspace.scope.port);
  return isOwn ? keyspace.scope : undefined;
}
