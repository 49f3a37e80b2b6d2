/** A Level database over a store, whichever package opens it. */

import { AbstractIterator, AbstractLevel, AbstractSnapshot } from "abstract-level";

/** Keys and values as the store has them. */
const BINARY = { keyEncoding: "binary", valueEncoding: "binary" };

/** The options that are passed to the store; users may give others, for hooks of theirs. */
const OF_STORE = [
  "cacheBytes",
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

/** The bounds of a range. */
const BOUNDS = ["gt", "gte", "lt", "lte"];

/** Returns the options by which a call is durable. */
const durability = ({ sync }) => ({ durability: sync === true ? "sync" : "buffered" });

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
  return BOUNDS.every((bound) => {
    if (range[bound] === undefined) return true;
    const order = compare(key, range[bound]);
    if (order === 0) return bound.endsWith("e");
    return bound.startsWith("g") ? order > 0 : order < 0;
  });
}

class Snapshot extends AbstractSnapshot {
  /** The store's snapshot, and that for `getSync`, if there is one. */
  held;
  heldSync;

  constructor(options, held, heldSync) {
    super(options);
    this.held = held;
    this.heldSync = heldSync;
  }

  async _close() {
    this.held.release();
    this.heldSync?.release();
  }
}

class Iterator extends AbstractIterator {
  #cursor;
  #failed;
  #range;
  #reverse;
  #rows;
  #outside = false;

  constructor(db, options, reader) {
    super(db, options);
    this.#range = rangeOf(options);
    this.#reverse = options.reverse;
    this.#rows = options.keys === false ? "values" : options.values === false ? "keys" : "entries";
    try {
      // At once: what is written from now on is not part of it.
      this.#cursor = reader().cursor({ ...this.#range, rows: this.#rows, ...BINARY });
    } catch (error) {
      this.#failed = error;
    }
  }

  async _next() {
    const [row] = await this.#take(1);
    return row;
  }

  async _nextv(size) {
    return this.#take(size);
  }

  _seek(target) {
    this.#outside = !contains(this.#range, target);
    if (!this.#outside) this.#cursor?.seek(target);
  }

  async _close() {
    this.#cursor?.close();
  }

  async #take(count) {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#outside) return [];
    const cursor = this.#cursor;
    const rows = await (this.#reverse ? cursor.prev(count) : cursor.next(count));
    if (this.#rows === "entries") return rows;
    return rows.map((row) => (this.#rows === "keys" ? [row, undefined] : [undefined, row]));
  }
}

/** Returns the class of databases over the stores of a package; `openSync`, where there is one, serves `getSync`. */
export function levelOf({ destroy, open, openSync }) {
  return class TerraneLevel extends AbstractLevel {
    #location;
    #memory;
    #store;
    /** The store for `getSync`, which shares the engine. */
    #sync;

    constructor(location, options = {}) {
      if (typeof location !== "string" || location === "") {
        throw new TypeError(`expected a location, a string that is not empty, found ${location}`);
      }
      const { memory = false } = options;
      const { memory: _memory, ...others } = options;
      super(
        {
          encodings: { view: true },
          seek: true,
          has: true,
          explicitSnapshots: true,
          implicitSnapshots: true,
          permanence: !memory,
          createIfMissing: !memory,
          errorIfExists: !memory,
          getSync: openSync !== undefined,
          signals: { iterators: false },
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
      const names = OF_STORE.filter((name) => given[name] !== undefined);
      const options = Object.fromEntries(names.map((name) => [name, given[name]]));
      if (this.#memory) return this.#openInMemory(options);
      Object.assign(options, { create: createIfMissing, errorIfExists });
      try {
        this.#store = await open(this.#location, options);
        this.#sync = await openSync?.(this.#location, { ...options, errorIfExists: false });
      } catch (error) {
        await this._close();
        throw described(error, this.#location);
      }
    }

    /** Opens a store in memory, once: it keeps its entries when the database is closed and opened again. */
    async #openInMemory(options) {
      const storage = "memory";
      this.#store ??= await (openSync ?? open)(this.#location, { ...options, storage });
      if (openSync !== undefined) this.#sync = this.#store;
    }

    async _close() {
      if (this.#memory) return;
      const [store, sync] = [this.#store, this.#sync];
      this.#store = this.#sync = undefined;
      sync?.close();
      await store?.close();
    }

    async _get(key, options) {
      return this.#reader(options).get(key, BINARY_VALUE);
    }

    _getSync(key, { snapshot }) {
      return (snapshot === undefined ? this.#sync : snapshot.heldSync).get(key, BINARY_VALUE);
    }

    async _getMany(keys, options) {
      return this.#reader(options).getMany(keys, BINARY_VALUE);
    }

    async _has(key, options) {
      return this.#reader(options).has(key);
    }

    async _hasMany(keys, options) {
      return this.#reader(options).hasMany(keys);
    }

    async _put(key, value, options) {
      await this.#store.put(key, value, durability(options));
    }

    async _del(key, options) {
      await this.#store.delete(key, durability(options));
    }

    async _batch(operations, options) {
      const batch = operations.map(({ type, key, value }) =>
        type === "del" ? { type: "delete", key } : { type, key, value },
      );
      await this.#store.batch(batch, durability(options));
    }

    async _clear(options) {
      const range = rangeOf(options);
      const { limit, reverse, snapshot } = options;
      if (snapshot === undefined) {
        const few = limit >= 0 ? { limit, reverse } : {};
        if (few.limit === undefined) await this.#store.deleteRange(range);
        else await this.#store.clear({ ...range, ...few });
        return;
      }
      // The keys are those of the snapshot.
      const keys = snapshot.held.keys({
        ...range,
        reverse,
        keyEncoding: "binary",
        ...(limit >= 0 ? { limit } : {}),
      });
      const batch = [];
      for await (const key of keys) batch.push({ type: "delete", key });
      await this.#store.batch(batch);
    }

    _iterator(options) {
      return new Iterator(this, options, () => this.#reader(options));
    }

    _snapshot(options) {
      return new Snapshot(options, this.#store.snapshot(), this.#sync?.snapshot());
    }

    /** Estimates the bytes that the entries from one key up to another take in tables. */
    async approximateSize(start, end, options = {}) {
      return this.#store.approximateSize(this.#between(start, end, options));
    }

    /** Compacts the entries from one key up to another. */
    async compactRange(start, end, options = {}) {
      await this.#store.compactRange(this.#between(start, end, options));
    }

    #between(start, end, { keyEncoding }) {
      if (this.status !== "open") throw notOpen();
      const encoding = this.keyEncoding(keyEncoding).createViewTranscoder();
      return { gte: encoding.encode(start), lte: encoding.encode(end) };
    }

    #reader({ snapshot }) {
      return snapshot === undefined ? this.#store : snapshot.held;
    }
  };
}

const BINARY_VALUE = { valueEncoding: "binary" };

function notOpen() {
  return Object.assign(new Error("Database is not open"), { code: "LEVEL_DATABASE_NOT_OPEN" });
}

/** An error of an opening, in the words by which users of Level know it. */
function described(error, location) {
  const { code, message } = error;
  let why;
  if (code === "not-found") why = `${location} does not exist, and createIfMissing is false`;
  else if (/expected no store/.test(message)) why = `${location} exists, and errorIfExists is true`;
  else return error;
  return Object.assign(new Error(`${why}: ${message}`, { cause: error }), { code });
}
