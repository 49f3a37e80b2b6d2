/**
 * Calls that have yet to be sent. The calls of one turn of the event loop travel in one message:
 * consecutive writes become one batch and consecutive reads one lookup, and the order of calls is
 * kept. None of them fails because of another: if they cannot succeed together, the worker serves each
 * by itself.
 */

import { type Bytes, type Decoded, type Encoding, MAX_KEY_BYTES } from "../api/data.ts";
import type { TerraneError } from "../api/errors.ts";
import { ByteList } from "../codec/byte-list.ts";
import { decode, encodeKey, isText } from "../codec/bytes.ts";
import { decodeList } from "../codec/decode-list.ts";
import { Encoder, MAX_BATCH_BYTES } from "../codec/encoder.ts";
import { decodeError } from "../codec/error-codec.ts";
import type { Operation, Outcome } from "../codec/protocol.ts";
import { UTF8_MAX } from "../codec/utf8.ts";
import { checkLength, isWellFormed } from "../codec/validate.ts";

/** The size in bytes at which a group accepts no more calls. */
const GROUP_BYTES = 1 << 20;
/** A placeholder for a group's bytes until it ends. */
const EMPTY = new Uint8Array();

/** An operation whose reply is pending. */
export interface Call {
  operation: Operation;
  resolve: (value: unknown) => void;
  reject: (error: TerraneError) => void;
}

/** The outbox's last call, while others of its kind can join it. */
interface Group {
  /** Kind of call: calls of one kind join. */
  kind: string;
  /** The call that sends their operation. */
  call: Call;
  encoder: Encoder;
  /** The end of each call's bytes. */
  ends: number[];
  /** The number of keys; 0 for writes. */
  size: number;
  reply: Promise<unknown>;
  /** The values that a lookup found, once they are decoded. */
  values?: ByteList;
}

/** The operation of a group, without its bytes. */
type Grouping = Extract<Operation, { op: "write" | "get" }>;

/** The lookup of a single key. */
type Lookup = Extract<Operation, { op: "lookup" }>;

/** The outbox's last call, while it is a lookup of one key that no other call has joined. */
interface Lone {
  lookup: Lookup;
  call: Call;
  encoding: Encoding;
  resolve: (value: any) => void;
  reject: (error: unknown) => void;
}

/** A call's place in its group. */
interface Joined {
  group: Group;
  /** The number of earlier calls in the group. */
  at: number;
}

export class Outbox {
  readonly #flush: () => void;
  #calls: Call[] = [];
  #group: Group | undefined;
  #lone: Lone | undefined;
  #scheduled = false;
  #closed: TerraneError | undefined;

  /** `flush` is called at the end of a turn in which calls were added. */
  constructor(flush: () => void) {
    this.#flush = flush;
  }

  /** Returns the reason why no more calls are accepted; undefined while they are. */
  get closed(): TerraneError | undefined {
    return this.#closed;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Adds an operation; resolves to the value of its reply. */
  add(operation: Operation): Promise<unknown> {
    this.#endGroup();
    return this.#push(operation);
  }

  /**
   * Adds writes to the current batch; resolves to its sequence number. If `fill` throws, none of them
   * is added.
   */
  async write(sync: boolean, fill: (encoder: Encoder) => void): Promise<number> {
    const operation: Grouping = { op: "write", batch: EMPTY, sync };
    const { group, at } = this.#join(`write ${sync}`, fill, operation);
    const sequence = await group.reply;
    return (Array.isArray(sequence) ? valueOf(sequence, at) : sequence) as number;
  }

  /** Adds lookups of `keys`; resolves to their values, in order. */
  async lookup<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    const fill = (encoder: Encoder) => {
      for (const key of keys) encoder.key(key);
    };
    const operation: Grouping = { op: "get", keyspace, snapshot, keys: EMPTY };
    const { group, at } = this.#join(kindOf(keyspace, snapshot), fill, operation);
    const first = group.size;
    group.size += keys.length;
    const found = await group.reply;
    return decodeFound(group, at, first, keys, encoding, found as Uint8Array | Outcome[]);
  }

  /**
   * Adds a lookup of one key. Resolves to the value with the reply itself, since each promise in between delays a
   * single get.
   */
  get<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    key: Bytes,
    encoding: E,
  ): Promise<Decoded<E> | undefined> {
    if (!isShortText(key) || this.#canJoin(keyspace, snapshot)) {
      return this.lookup(keyspace, snapshot, [key], encoding).then(([value]) => value);
    }
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    this.#endGroup();
    return new Promise((resolve, reject) => {
      const lookup: Lookup = { op: "lookup", keyspace, snapshot, key, text: isText(encoding) };
      const found = (value: unknown) => {
        try {
          resolve(decodeLone(value, key, encoding));
        } catch (error) {
          reject(error);
        }
      };
      const call = { operation: lookup, resolve: found, reject };
      this.#lone = { lookup, call, encoding, resolve, reject };
      this.#send(call);
    });
  }

  /** Removes and returns all calls. */
  take(): Call[] {
    this.#endGroup();
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** Puts calls that were taken in front of all others. */
  restore(calls: readonly Call[]): void {
    if (this.#closed === undefined) this.#calls.unshift(...calls);
    else for (const { reject } of calls) reject(this.#closed);
  }

  /** Fails all calls. */
  fail(error: TerraneError): void {
    for (const { reject } of this.take()) reject(error);
  }

  /** Fails all calls, and every later one. */
  close(error: TerraneError): void {
    this.#closed = error;
    this.fail(error);
  }

  /** Whether lookups in a keyspace, now or at a snapshot, can join the last call. */
  #canJoin(keyspace: number, snapshot: number): boolean {
    const lookup = this.#lone?.lookup;
    if (lookup !== undefined) return lookup.keyspace === keyspace && lookup.snapshot === snapshot;
    return this.#group !== undefined && this.#group.kind === kindOf(keyspace, snapshot);
  }

  #join(kind: string, fill: (encoder: Encoder) => void, operation: Grouping): Joined {
    if (this.#closed !== undefined) throw this.#closed;
    let group = this.#lone === undefined ? this.#group : this.#groupOf(this.#lone, kind);
    if (group?.kind === kind && group.encoder.length < GROUP_BYTES) {
      append(group.encoder, fill);
    } else {
      const encoder = new Encoder();
      append(encoder, fill);
      this.#endGroup();
      const reply = this.#push(operation);
      const call = this.#calls.at(-1) as Call;
      group = this.#group = { kind, call, encoder, ends: [], size: 0, reply };
    }
    return { group, at: group.ends.push(group.encoder.length) - 1 };
  }

  /** Makes the lone lookup the first call of a group. Returns undefined if calls of `kind` cannot join it. */
  #groupOf({ lookup, call, encoding, resolve, reject }: Lone, kind: string): Group | undefined {
    const { keyspace, snapshot, key } = lookup;
    if (kind !== kindOf(keyspace, snapshot)) return undefined;
    const encoder = new Encoder();
    encoder.key(key);
    call.operation = { op: "get", keyspace, snapshot, keys: EMPTY };
    const reply = new Promise((found, failed) => {
      call.resolve = found;
      call.reject = failed;
    });
    const group: Group = { kind, call, encoder, ends: [encoder.length], size: 1, reply };
    const first = (found: unknown) =>
      decodeFound(group, 0, 0, [key], encoding, found as Uint8Array | Outcome[])[0];
    reply.then(first).then(resolve, reject);
    this.#lone = undefined;
    return (this.#group = group);
  }

  /** Moves the group's bytes into its operation. */
  #endGroup(): void {
    this.#lone = undefined;
    if (this.#group === undefined) return;
    const { call, encoder, ends } = this.#group;
    this.#group = undefined;
    const operation = call.operation as Grouping;
    const bytes = encoder.bytes();
    if (operation.op === "write") operation.batch = bytes;
    else operation.keys = bytes;
    if (ends.length > 1) operation.ends = Uint32Array.from(ends);
  }

  #push(operation: Operation): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => this.#send({ operation, resolve, reject }));
  }

  /** Adds a call, which is sent at the end of the turn. */
  #send(call: Call): void {
    this.#calls.push(call);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#scheduled = false;
    this.#flush();
  };
}

/** Returns the kind of lookups in a keyspace, now or at a snapshot. */
function kindOf(keyspace: number, snapshot: number): string {
  return `get ${keyspace} ${snapshot}`;
}

/** Whether a key is well-formed text whose bytes surely fit: no further check can reject it. */
function isShortText(key: Bytes): key is string {
  return typeof key === "string" && UTF8_MAX * key.length <= MAX_KEY_BYTES && isWellFormed(key);
}

/** Decodes the value of a lookup of one key, as text or bytes. */
function decodeLone<E extends Encoding>(
  value: unknown,
  key: string,
  encoding: E,
): Decoded<E> | undefined {
  if (value === undefined) return undefined;
  return decode(value as string | Uint8Array<ArrayBuffer>, encoding, () => encodeKey(key));
}

/** Decodes a call's values: the group's from number `first`, or those of the call's own outcome. */
function decodeFound<E extends Encoding>(
  group: Group,
  at: number,
  first: number,
  keys: readonly Bytes[],
  encoding: E,
  found: Uint8Array | Outcome[],
): (Decoded<E> | undefined)[] {
  const isOwn = Array.isArray(found);
  const values = isOwn
    ? new ByteList(valueOf(found, at) as Uint8Array)
    : (group.values ??= new ByteList(found));
  const start = isOwn ? 0 : first;
  const keyAt = (index: number) => encodeKey(keys[index - start] as Bytes);
  return decodeList(values, encoding, start, start + keys.length, keyAt);
}

/** Returns the value of a call that was served by itself, or throws its error. */
function valueOf(outcomes: Outcome[], at: number): unknown {
  const outcome = outcomes[at] as Outcome;
  if ("error" in outcome) throw decodeError(outcome.error);
  return outcome.value;
}

/** Encodes all of a call's operations, or throws and leaves the encoder unchanged. */
export function append(encoder: Encoder, fill: (encoder: Encoder) => void): void {
  const before = encoder.length;
  try {
    fill(encoder);
    checkLength("batch", encoder.length - before, MAX_BATCH_BYTES);
  } catch (error) {
    encoder.truncate(before);
    throw error;
  }
}
