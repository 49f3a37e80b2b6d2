/** A Level database over a store, whichever package opens it. */

import { AbstractIterator, AbstractLevel, AbstractSnapshot } from "abstract-level";
import { Pages } from "./pages.js";

/** Options passed to the store. Others are for hooks, which get all of them. */
const OF_STORE = [
  "cacheBytes",
  "durability",
  "feedBytes",
  "filterBits",
  "layout",
  "memtableBytes",
  "policies",
  "policy",
  "readOnly",
  "syncInterval",
  "threads",
  "timeout",
  "wasm",
  "worker",
];

/** Options of the store by the names that classic-level has for them. */
const AS_IN_CLASSIC_LEVEL = { cacheBytes: "cacheSize", memtableBytes: "writeBufferSize" };

/** Keys that are deleted together. */
const CLEARED_ROWS = 1000;

/** The bounds of a range. */
const BOUNDS = ["gt", "gte", "lt", "lte"];

/** Returns the bounds of a range that are given. */
function rangeOf(options) {
  const range = {};
  // As in every Level, an inclusive bound is preferred to an exclusive one.
  for (const [inclusive, exclusive] of [
    ["gte", "gt"],
    ["lte", "lt"],
  ]) {
    const name = options[inclusive] !== undefined ? inclusive : exclusive;
    if (options[name] !== undefined) range[name] = options[name];
  }
  return range;
}

function compare(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    if (one[at] !== other[at]) return one[at] - other[at];
  }
  return one.length - other.length;
}

function contains(range, key) {
  const bytes = toBytes(key);
  return BOUNDS.every((bound) => {
    if (range[bound] === undefined) return true;
    const order = compare(bytes, toBytes(range[bound]));
    if (order === 0) return bound.endsWith("e");
    return bound.startsWith("g") ? order > 0 : order < 0;
  });
}

/** The encoding of a store for one of the formats of Level. */
const encodingOf = (format) => (format === "utf8" ? "utf8" : "binary");

/** Returns the options of a store among those of a database. */
function storeOptions(given) {
  const options = {};
  for (const name of OF_STORE) {
    const value = given[name] ?? given[AS_IN_CLASSIC_LEVEL[name]];
    if (value !== undefined) options[name] = value;
  }
  return options;
}

const encoder = new TextEncoder();
const toBytes = (key) => (typeof key === "string" ? encoder.encode(key) : key);

class Snapshot extends AbstractSnapshot {
  /** The number of the store's snapshot. */
  number;
  #store;

  constructor(options, store) {
    super(options);
    this.#store = store;
    this.number = store.snapshot();
  }

  isOf(store) {
    return this.#store === store;
  }

  async _close() {
    this.#store.release(this.number);
  }
}

/** Returns the store's number of a snapshot; 0 for none. */
function numberOf(snapshot, store) {
  if (snapshot === undefined) return 0;
  if (!snapshot.isOf(store)) {
    throw new TypeError("snapshot: expected one of this database, found one of another");
  }
  return snapshot.number;
}

class Iterator extends AbstractIterator {
  #pages;
  #failed;
  #range;
  #signal;
  #outside = false;

  constructor(db, options, store) {
    super(db, options);
    this.#range = rangeOf(options);
    this.#signal = options.signal ?? undefined;
    const { keys, keyEncoding, reverse, snapshot, values, valueEncoding } = options;
    try {
      // At once: what is written from now on is not part of it.
      const scan = store.scan({
        range: this.#range,
        reverse,
        keys: keys === false ? undefined : encodingOf(keyEncoding),
        values: values === false ? undefined : encodingOf(valueEncoding),
        snapshot: numberOf(snapshot, store),
      });
      this.#pages = new Pages(scan);
    } catch (error) {
      this.#failed = error;
    }
  }

  // Without a promise for a row that was read ahead: the caller awaits the result, and a promise would take longer.
  _next() {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#outside) return undefined;
    const row = this.#pages.next(this.limit - this.count);
    return this.#signal === undefined ? row : abortable(this.#signal, row);
  }

  async _nextv(size) {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#outside) return [];
    const rows = this.#pages.nextMany(size);
    return this.#signal === undefined ? rows : abortable(this.#signal, rows);
  }

  _seek(target) {
    this.#outside = !contains(this.#range, target);
    if (!this.#outside) this.#pages?.seek(target);
  }

  async _close() {
    this.#pages?.close();
  }
}

/** Waits for a result; fails as soon as the signal aborts. */
async function abortable(signal, result) {
  let abort;
  const aborted = new Promise((_, reject) => {
    abort = () => reject(new AbortError(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
  });
  // If the signal aborts, nobody handles its error.
  Promise.resolve(result).catch(() => undefined);
  try {
    return await Promise.race([aborted, result]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

class AbortError extends Error {
  code = "LEVEL_ABORTED";

  constructor(cause) {
    super("Operation has been aborted", { cause });
  }

  get name() {
    return "AbortError";
  }
}

/**
 * Returns the class of databases over the stores that `open` opens. `formats` are the formats of keys and values that
 * the stores accept unchanged; `getSync` says whether they have that method.
 */
export function levelOf({ destroy, formats, getSync, open }) {
  return class TerraneLevel extends AbstractLevel {
    #location;
    #memory;
    #store;
    /** Whether writes that do not say so are durable. */
    #sync = false;

    constructor(location, options = {}) {
      if (typeof location !== "string" || location === "") {
        throw new TypeError(`expected a location, a string that is not empty, found ${location}`);
      }
      const { memory = false, ...others } = options;
      super(
        {
          encodings: formats,
          seek: true,
          has: true,
          explicitSnapshots: true,
          implicitSnapshots: true,
          permanence: !memory,
          createIfMissing: !memory,
          errorIfExists: !memory,
          getSync,
          signals: { iterators: true },
          additionalMethods: { approximateSize: true, compactRange: true },
        },
        others,
      );
      this.#location = location;
      this.#memory = memory;
    }

    /** Deletes the database at a location, which must not be open. */
    static async destroy(location) {
      await destroy(location);
    }

    /** The location. */
    get location() {
      return this.#location;
    }

    async _open({ createIfMissing = true, errorIfExists = false, ...given }) {
      const options = storeOptions(given);
      this.#sync = options.durability === "sync";
      if (this.#memory) {
        // Once: it keeps its entries when the database is closed and opened again.
        this.#store ??= await open(this.#location, { ...options, storage: "memory" });
        return;
      }
      Object.assign(options, { create: createIfMissing, errorIfExists });
      try {
        this.#store = await open(this.#location, options);
      } catch (error) {
        throw described(error, this.#location, createIfMissing);
      }
    }

    async _close() {
      if (this.#memory) return;
      const store = this.#store;
      this.#store = undefined;
      await store?.close();
    }

    _get(key, { valueEncoding, snapshot }) {
      return this.#store.get(key, encodingOf(valueEncoding), numberOf(snapshot, this.#store));
    }

    _getSync(key, options) {
      // It says that this is not supported.
      if (!getSync) return super._getSync(key, options);
      const { valueEncoding, snapshot } = options;
      return this.#store.getSync(key, encodingOf(valueEncoding), numberOf(snapshot, this.#store));
    }

    _getMany(keys, { valueEncoding, snapshot }) {
      return this.#store.getMany(keys, encodingOf(valueEncoding), numberOf(snapshot, this.#store));
    }

    async _has(key, { snapshot }) {
      const number = numberOf(snapshot, this.#store);
      const [has] = await this.#store.hasMany([key], number);
      return has;
    }

    _hasMany(keys, { snapshot }) {
      return this.#store.hasMany(keys, numberOf(snapshot, this.#store));
    }

    _put(key, value, { sync = this.#sync }) {
      return this.#store.write([{ type: "put", key, value }], sync === true);
    }

    _del(key, { sync = this.#sync }) {
      return this.#store.write([{ type: "del", key }], sync === true);
    }

    _batch(operations, { sync = this.#sync }) {
      return this.#store.write(operations, sync === true);
    }

    async _clear(options) {
      const range = rangeOf(options);
      const { limit, reverse, snapshot, sync = this.#sync } = options;
      const most = limit >= 0 ? limit : Infinity;
      if (snapshot === undefined) return this.#store.clear(range, reverse, most, sync === true);
      // The keys are those of the snapshot.
      const keys = encodingOf(options.keyEncoding);
      const number = numberOf(snapshot, this.#store);
      const pages = new Pages(this.#store.scan({ range, reverse, keys, snapshot: number }));
      try {
        for (let left = most; left > 0;) {
          const rows = await pages.nextMany(Math.min(left, CLEARED_ROWS));
          if (rows.length === 0) return;
          left -= rows.length;
          await this.#store.write(
            rows.map(([key]) => ({ type: "del", key })),
            sync === true,
          );
        }
      } finally {
        pages.close();
      }
    }

    _iterator(options) {
      return new Iterator(this, options, this.#store);
    }

    _snapshot(options) {
      return new Snapshot(options, this.#store);
    }

    /** Estimates the bytes that the entries from one key up to another take in tables. */
    async approximateSize(start, end, options = {}) {
      const range = await this.#between(start, end, options);
      return this.#store.approximateSize(range);
    }

    /** Compacts the entries from one key up to another. */
    async compactRange(start, end, options = {}) {
      const range = await this.#between(start, end, options);
      await this.#store.compactRange(range);
    }

    /** Returns the range from one key up to another, once the database is open. */
    async #between(start, end, { keyEncoding }) {
      // Undefined would be encoded as text.
      if (start == null) throw new TypeError(`start: expected a key, found ${start}`);
      if (end == null) throw new TypeError(`end: expected a key, found ${end}`);
      if (this.status === "opening") await this.open({ passive: true });
      if (this.status !== "open") throw notOpen();
      const encoding = this.keyEncoding(keyEncoding);
      return { gte: encoding.encode(start), lte: encoding.encode(end) };
    }
  };
}

function notOpen() {
  return Object.assign(new Error("Database is not open"), { code: "LEVEL_DATABASE_NOT_OPEN" });
}

/** Returns the error of an opening with Level's wording and code. */
function described(error, location, createIfMissing) {
  const { message } = error;
  let { code } = error;
  let why;
  if (code === "not-found" && !createIfMissing)
    why = `${location} does not exist, and createIfMissing is false`;
  else if (/expected no store/.test(message)) why = `${location} exists, and errorIfExists is true`;
  else if (code === "busy") [why, code] = [`${location} is locked`, "LEVEL_LOCKED"];
  else return error;
  return Object.assign(new Error(`${why}: ${message}`, { cause: error }), { code });
}
