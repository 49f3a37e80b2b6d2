/**
 * Calls that are yet to be sent. Those made in one turn of the event loop travel in one message:
 * neighbouring writes become one batch and neighbouring reads one lookup, and the order of calls is
 * kept.
 */

import { checkLength } from "./argument.ts";
import type { TerraneError } from "./errors.ts";
import { type Bytes, type Decoded, type Encoding, MAX_BATCH_BYTES, Packer } from "./packing.ts";
import type { Operation } from "./protocol.ts";
import { Strings } from "./strings.ts";

/** A group takes no more calls beyond this many bytes. */
const GROUP_BYTES = 1 << 20;
/** Stands in a request until its group ends. */
const EMPTY = new Uint8Array();

/** An operation, and who waits for its reply. */
export interface Call {
  operation: Operation;
  resolve: (value: unknown) => void;
  reject: (error: TerraneError) => void;
}

/** The last call of the outbox, while it can take in more of its kind. */
interface Group {
  /** What calls must have in common to be in it. */
  kind: string;
  packer: Packer;
  /** Keys gathered; 0 for writes. */
  size: number;
  reply: Promise<unknown>;
}

export class Outbox {
  readonly #flush: () => void;
  #calls: Call[] = [];
  #group: Group | undefined;
  #scheduled = false;
  /** Why no call is taken any more. */
  #closed: TerraneError | undefined;

  /** `flush` is called at the end of a turn in which calls were added. */
  constructor(flush: () => void) {
    this.#flush = flush;
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0;
  }

  /** Adds an operation; the promise is its reply's value. */
  add(operation: Operation): Promise<unknown> {
    this.#endGroup();
    return this.#push(operation);
  }

  /**
   * Adds writes to the batch that is being gathered, and promises its sequence; `fill` packs them all,
   * or throws.
   */
  async write(sync: boolean, fill: (packer: Packer) => void): Promise<number> {
    const group = this.#join(`write ${sync}`, fill, () =>
      this.#push({ op: "write", batch: EMPTY, sync }),
    );
    return (await group.reply) as number;
  }

  /** Adds lookups of `keys`; the promise is their values, in order. */
  async lookup<E extends Encoding>(
    keyspace: number,
    snapshot: number,
    keys: readonly Bytes[],
    encoding: E,
  ): Promise<(Decoded<E> | undefined)[]> {
    const fill = (packer: Packer) => {
      for (const key of keys) packer.key(key);
    };
    const group = this.#join(`get ${keyspace} ${snapshot}`, fill, () =>
      this.#push({ op: "get", keyspace, snapshot, keys: EMPTY }).then(
        (packed) => new Strings(packed as Uint8Array),
      ),
    );
    const first = group.size;
    group.size += keys.length;
    const values = (await group.reply) as Strings;
    return values.read(encoding, first, first + keys.length);
  }

  /** Takes all calls out. */
  take(): Call[] {
    this.#endGroup();
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** Fails the calls that wait. */
  fail(error: TerraneError): void {
    for (const { reject } of this.take()) reject(error);
  }

  /** Fails the calls that wait, and every later one. */
  close(error: TerraneError): void {
    this.#closed = error;
    this.fail(error);
  }

  #join(kind: string, fill: (packer: Packer) => void, begin: () => Promise<unknown>): Group {
    if (this.#closed !== undefined) throw this.#closed;
    const group = this.#group;
    if (group?.kind === kind && group.packer.length < GROUP_BYTES) {
      pack(group.packer, fill);
      return group;
    }
    const packer = new Packer();
    pack(packer, fill);
    this.#endGroup();
    this.#group = { kind, packer, size: 0, reply: begin() };
    return this.#group;
  }

  /** Gives the gathered bytes to their operation, which is the outbox's last. */
  #endGroup(): void {
    const last = this.#calls.at(-1)?.operation;
    if (this.#group !== undefined && last !== undefined) {
      const bytes = this.#group.packer.bytes();
      if (last.op === "write") last.batch = bytes;
      if (last.op === "get") last.keys = bytes;
    }
    this.#group = undefined;
  }

  #push(operation: Operation): Promise<unknown> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (!this.#scheduled) {
      this.#scheduled = true;
      queueMicrotask(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
    return new Promise((resolve, reject) => this.#calls.push({ operation, resolve, reject }));
  }
}

/** Packs one call's operations whole, or throws and leaves the packer as it was. */
function pack(packer: Packer, fill: (packer: Packer) => void): void {
  const before = packer.length;
  try {
    fill(packer);
    checkLength("batch", packer.length - before, MAX_BATCH_BYTES);
  } catch (error) {
    packer.truncate(before);
    throw error;
  }
}
