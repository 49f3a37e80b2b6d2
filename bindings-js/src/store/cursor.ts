/** Cursors, which move in steps of pages. */

import type { Encodable, Encoding } from "../api/data.ts";
import { ClosedError } from "../api/errors.ts";
import type { WaitOptions } from "../api/options.ts";
import type { CallOptions, CursorOf, Mode, Result } from "../api/store.ts";
import { encodeKey } from "../codec/bytes.ts";
import { toBytes } from "../codec/encodings.ts";
import type { Projection } from "../codec/projection.ts";
import { check } from "../codec/validate.ts";
import { notForgotten, onForgotten } from "../shared/finalization.ts";
import type { HeldCursor, Port } from "./port.ts";

const MAX_ROWS = 2 ** 32 - 1;

/** The reader whose cursor it is, and whose snapshot stays alive with it. */
interface CursorOwner<M extends Mode> {
  readonly scope: { readonly port: Port<M> };
  call<O extends object, T>(
    options: O | undefined,
    lists: object[],
    start: (options: O & WaitOptions) => Result<M, T>,
  ): Result<M, T>;
}

export class Cursor<M extends Mode, T, K extends Encoding> implements CursorOf<M, T, K> {
  readonly #reader: CursorOwner<M>;
  readonly #held: HeldCursor<M>;
  readonly #projection: Projection<T>;
  readonly #encoding: K;
  /** The key to move to before the next rows. */
  #seek: Uint8Array | undefined;
  #closed = false;

  constructor(reader: CursorOwner<M>, held: HeldCursor<M>, projection: Projection<T>, encoding: K) {
    this.#reader = reader;
    this.#held = held;
    this.#projection = projection;
    this.#encoding = encoding;
    onForgotten(this, held.close);
  }

  seek(key: Encodable<K>): void {
    this.#checkOpen();
    this.#seek = encodeKey(toBytes("key", key, this.#encoding));
  }

  next(n: number, options?: CallOptions<M>): Result<M, T[]> {
    return this.#rows(n, false, options);
  }

  prev(n: number, options?: CallOptions<M>): Result<M, T[]> {
    return this.#rows(n, true, options);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    notForgotten(this);
    this.#held.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #rows(count: number, back: boolean, options: CallOptions<M> | undefined): Result<M, T[]> {
    const { keys, values, decode } = this.#projection;
    return this.#reader.call(options, [], (_: WaitOptions) => {
      this.#checkOpen();
      const valid = Number.isInteger(count) && count > 0 && count <= MAX_ROWS;
      check("n", count, valid, `an integer from 1 to ${MAX_ROWS}`);
      const seek = this.#seek;
      this.#seek = undefined;
      const page = this.#held.rows({ seek, count, back, keys, values });
      return this.#reader.scope.port.map(page, (bytes) => [...decode(bytes)]);
    });
  }

  #checkOpen(): void {
    if (this.#closed) throw new ClosedError("the cursor is closed");
  }
}
