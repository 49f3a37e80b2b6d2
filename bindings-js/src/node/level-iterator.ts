/**
 * An iterator of `terrane-level`, which reads pages of rows.
 *
 * 1. The first page is small, since many iterators are left after a few rows. Each later page is larger than the one
 *    before. An iterator with a low limit reads all its rows at once.
 * 2. From the second page on, the next one is read while the rows of a page are taken.
 * 3. The addon reads one page of an iterator at a time, so a page that is no longer wanted is awaited.
 */

import type { Scan, Store } from "../../wasm/terrane.js";
import { encodeKey } from "../codec/bytes.ts";
import { encodeRange } from "../codec/span.ts";
import type { AddonScan } from "./addon.ts";
import {
  type Content,
  decodePage,
  type LevelRange,
  wellFormed,
  wellFormedRange,
} from "./level-codec.ts";

/** The rows of the first page and of the largest, and the growth of a page. */
const FIRST_ROWS = 16;
const ROWS_MAX = 1024;
const GROWTH = 8;
/** The rows that are read at once if no more are wanted. */
const FEW_ROWS = 256;
/** The bytes at which a page ends. */
const PAGE_BYTES = 256 << 10;
const MANY_BYTES = 4 << 20;

/** The store of an iterator. */
interface Owner {
  call<T>(body: (store: Store) => T): T;
  later<T>(body: () => Promise<T>): Promise<T>;
}

/** The rows that an iterator reads; an encoding that is absent leaves the keys or the values out. */
export interface IteratorRequest {
  range: LevelRange;
  reverse: boolean;
  keys: "utf8" | "binary" | undefined;
  values: "utf8" | "binary" | undefined;
  /** The number of a snapshot; 0 for the state as it is now. */
  snapshot: number;
}

type Row = [key: Content | undefined, value: Content | undefined];

/** Rows that were read. */
interface Page {
  keys: (Content | undefined)[] | undefined;
  values: (Content | undefined)[] | undefined;
  size: number;
  /** Whether no rows follow. */
  isLast: boolean;
}

const NONE: Page = { keys: undefined, values: undefined, size: 0, isLast: false };

export class LevelIterator {
  readonly #store: Owner;
  readonly #scan: Scan & AddonScan;
  readonly #request: IteratorRequest;
  #page = NONE;
  /** The number of rows of the page that were taken. */
  #taken = 0;
  #rows = FIRST_ROWS;
  /** The page after this one, which is being read. */
  #next: Promise<Page> | undefined;
  /** Settled once the addon has the scan. */
  #reading: Promise<unknown> | undefined;
  #seek: Uint8Array | undefined;

  constructor(store: Owner, request: IteratorRequest) {
    this.#store = store;
    this.#request = request;
    const { range, reverse, snapshot } = request;
    const bytes = encodeRange(wellFormedRange(range), "binary");
    this.#scan = store.call((of) => of.scan(0, snapshot, bytes, reverse, Infinity)) as Scan &
      AddonScan;
  }

  /** Returns the next row, or a promise of it; undefined at the end. At most `left` rows are still wanted. */
  next(left: number): Row | undefined | Promise<Row | undefined> {
    if (this.#taken < this.#page.size) return this.#row(this.#taken++);
    if (this.#page.isLast) return undefined;
    return this.#nextOfPage(left);
  }

  /** Returns the next rows, at most `count` of them; none at the end. */
  async nextMany(count: number): Promise<Row[]> {
    if (this.#taken === this.#page.size && !this.#page.isLast) {
      const page = this.#next ?? this.#read(count, MANY_BYTES);
      this.#next = undefined;
      this.#turnTo(await page);
    }
    const end = Math.min(this.#taken + count, this.#page.size);
    const rows: Row[] = [];
    while (this.#taken < end) rows.push(this.#row(this.#taken++));
    return rows;
  }

  /** Moves to a key. */
  seek(key: Content): void {
    this.#seek = encodeKey(wellFormed(key));
    this.#page = NONE;
    this.#taken = 0;
    this.#rows = FIRST_ROWS;
    this.#next = undefined;
  }

  close(): void {
    this.#scan.free();
  }

  async #nextOfPage(left: number): Promise<Row | undefined> {
    const isFirst = this.#rows === FIRST_ROWS;
    const page = this.#next ?? this.#readNext(left);
    this.#next = undefined;
    this.#turnTo(await page);
    const { size, isLast } = this.#page;
    if (!isFirst && !isLast && size < left) {
      this.#next = this.#readNext(left - size);
      // The call that gets there throws its error.
      this.#next.catch(() => undefined);
    }
    return size === 0 ? undefined : this.#row(this.#taken++);
  }

  #readNext(left: number): Promise<Page> {
    const rows = left <= FEW_ROWS ? left : this.#rows;
    this.#rows = Math.min(this.#rows * GROWTH, ROWS_MAX);
    return this.#read(rows, PAGE_BYTES);
  }

  async #read(count: number, bytes: number): Promise<Page> {
    while (this.#reading !== undefined) await this.#reading;
    const { reverse, keys, values } = this.#request;
    const seek = this.#seek;
    this.#seek = undefined;
    const wants = [keys !== undefined, values !== undefined] as const;
    const rows = this.#store.later(() =>
      this.#scan.rows_apart(seek, count, bytes, reverse, ...wants),
    );
    const done = () => (this.#reading = undefined);
    this.#reading = rows.then(done, done);
    const page = await rows;
    const [keyList, valueList] = decodePage(page, keys, values);
    const size = (keyList ?? valueList)?.length ?? 0;
    return {
      keys: keyList,
      values: valueList,
      size,
      isLast: size === 0 || (size < count && page.length < bytes),
    };
  }

  #turnTo(page: Page): void {
    this.#page = page;
    this.#taken = 0;
  }

  #row(at: number): Row {
    const { keys, values } = this.#page;
    return [keys && keys[at], values && values[at]];
  }
}
