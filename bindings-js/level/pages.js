/**
 * The rows of a scan, read in pages.
 *
 * 1. The first page is small, since many iterators are left after a few rows. Each later page is larger than the one
 *    before. An iterator with a low limit reads all its rows at once.
 * 2. From the second page on, the next one is read while the rows of a page are taken.
 */

/** The rows of the first page and of the largest, and the growth of a page. */
const FIRST_ROWS = 16;
const ROWS_MAX = 1024;
const GROWTH = 8;
/** The rows that are read at once if no more are wanted. */
const FEW_ROWS = 256;
/** The most rows that a store accepts to be asked for, which it counts in 32 bits. */
const COUNT_MAX = 2 ** 32 - 1;
/** The bytes at which a page ends. */
const PAGE_BYTES = 256 << 10;
const MANY_BYTES = 4 << 20;

const NONE = { rows: [], isLast: false };

export class Pages {
  #scan;
  #page = NONE;
  /** The number of rows of the page that were taken. */
  #taken = 0;
  #count = FIRST_ROWS;
  /** The page after this one, which is being read. */
  #next;

  constructor(scan) {
    this.#scan = scan;
  }

  /** Returns the next row, or a promise of it; undefined at the end. At most `left` rows are still wanted. */
  next(left) {
    if (this.#taken < this.#page.rows.length) return this.#page.rows[this.#taken++];
    if (this.#page.isLast) return undefined;
    return this.#nextOfPage(left);
  }

  /** Returns the next rows, at most `count` of them; none at the end. */
  async nextMany(count) {
    if (this.#taken === this.#page.rows.length && !this.#page.isLast) {
      await this.#turn(this.#next ?? this.#scan.read(Math.min(count, COUNT_MAX), MANY_BYTES));
    }
    const { rows } = this.#page;
    const start = this.#taken;
    this.#taken = Math.min(start + count, rows.length);
    return start === 0 && this.#taken === rows.length ? rows : rows.slice(start, this.#taken);
  }

  /** Moves to a key. */
  seek(key) {
    this.#scan.seek(key);
    this.#page = NONE;
    this.#taken = 0;
    this.#count = FIRST_ROWS;
    this.#next = undefined;
  }

  close() {
    this.#scan.close();
  }

  async #nextOfPage(left) {
    const isFirst = this.#count === FIRST_ROWS;
    await this.#turn(this.#next ?? this.#read(left));
    const { rows, isLast } = this.#page;
    if (!isFirst && !isLast && rows.length < left) {
      this.#next = this.#read(left - rows.length);
      // The call that gets there throws its error.
      Promise.resolve(this.#next).catch(() => undefined);
    }
    return rows[this.#taken++];
  }

  #read(left) {
    const count = left <= FEW_ROWS ? left : this.#count;
    this.#count = Math.min(this.#count * GROWTH, ROWS_MAX);
    return this.#scan.read(count, PAGE_BYTES);
  }

  /** Waits for a page, and makes it the current one. */
  async #turn(page) {
    this.#next = undefined;
    this.#page = await page;
    this.#taken = 0;
  }
}
