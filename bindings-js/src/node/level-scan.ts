/**
 * A scan of `terrane-level`, read in pages.
 *
 * 1. A small page for which no file has to be read is read at once, in the calling thread. After a page with fewer rows
 *    than were asked for, there may be rows for which a file has to be read.
 * 2. Other pages are read in Node's pool of threads. The addon reads one page of a scan at a time, so that others wait.
 */

import type { Scan, Store } from "../../wasm/terrane.js";
import { encodeKey } from "../codec/bytes.ts";
import { encodeRange } from "../codec/span.ts";
import type { AddonScan } from "./addon.ts";
import {
  type Content,
  decodeRows,
  type LevelRange,
  type Row,
  wellFormed,
  wellFormedRange,
} from "./level-codec.ts";

/** The rows and bytes of a page that is read at once, and the calls that it counts as. */
const AT_ONCE_ROWS = 128;
const AT_ONCE_BYTES = 64 << 10;
const AT_ONCE_CALLS = 4;

/** The store of a scan. */
interface Owner {
  call<T>(body: (store: Store) => T): T;
  later<T>(body: () => Promise<T>): Promise<T>;
  mayRunAtOnce(calls: number): boolean;
}

/** The rows that a scan reads; an encoding that is absent leaves the keys or the values out. */
export interface ScanRequest {
  range: LevelRange;
  reverse: boolean;
  keys: "utf8" | "binary" | undefined;
  values: "utf8" | "binary" | undefined;
  /** The number of a snapshot; 0 for the state as it is now. */
  snapshot: number;
}

/** Rows that were read. */
export interface LevelPage {
  rows: Row[];
  /** Whether no rows follow. */
  isLast: boolean;
}

export class LevelScan {
  readonly #store: Owner;
  readonly #scan: Scan & AddonScan;
  readonly #request: ScanRequest;
  /** Settled once the addon has the scan. */
  #reading: Promise<unknown> | undefined;
  #seek: Uint8Array | undefined;

  constructor(store: Owner, request: ScanRequest) {
    this.#store = store;
    this.#request = request;
    const { range, reverse, snapshot } = request;
    const bytes = encodeRange(wellFormedRange(range), "binary");
    this.#scan = store.call((of) => of.scan(0, snapshot, bytes, reverse, Infinity)) as Scan &
      AddonScan;
  }

  /** Reads the next rows, at most `count` of them: fewer where they take `bytes` bytes or more. */
  read(count: number, bytes: number): LevelPage | Promise<LevelPage> {
    const isSmall = count <= AT_ONCE_ROWS && this.#reading === undefined;
    if (!isSmall || !this.#store.mayRunAtOnce(AT_ONCE_CALLS)) return this.#readLater(count, bytes);
    try {
      return this.#tryRead(count) ?? this.#readLater(count, bytes);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #tryRead(count: number): LevelPage | undefined {
    const { reverse, keys, values } = this.#request;
    const seek = this.#takeSeek();
    const [hasKeys, hasValues] = [keys !== undefined, values !== undefined];
    const page = this.#store.call(() =>
      this.#scan.try_rows(seek, count, AT_ONCE_BYTES, reverse, hasKeys, hasValues),
    );
    if (page === null) return undefined;
    const rows = decodeRows(page, keys, values);
    return { rows, isLast: rows.length === 0 };
  }

  async #readLater(count: number, bytes: number): Promise<LevelPage> {
    while (this.#reading !== undefined) await this.#reading;
    const { reverse, keys, values } = this.#request;
    const seek = this.#takeSeek();
    const [hasKeys, hasValues] = [keys !== undefined, values !== undefined];
    const reading = this.#store.later(() =>
      this.#scan.rows_apart(seek, count, bytes, reverse, hasKeys, hasValues),
    );
    const done = () => (this.#reading = undefined);
    this.#reading = reading.then(done, done);
    const page = await reading;
    const rows = decodeRows(page, keys, values);
    const isLast = rows.length === 0 || (rows.length < count && page.length < bytes);
    return { rows, isLast };
  }

  /** Moves to a key. */
  seek(key: Content): void {
    this.#seek = encodeKey(wellFormed(key));
  }

  close(): void {
    this.#scan.free();
  }

  /** Returns the key to move to, once. */
  #takeSeek(): Uint8Array | undefined {
    const seek = this.#seek;
    this.#seek = undefined;
    return seek;
  }
}
