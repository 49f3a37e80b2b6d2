/** A store of `terrane` with the interface of a store of `terrane-node/level`. */

/** Keys and values are bytes: Level encodes them. */
const BINARY = { keyEncoding: "binary", valueEncoding: "binary" };
const BINARY_VALUE = { valueEncoding: "binary" };

/** A cursor returns fewer rows than it was asked for at the end, or where they take as many bytes as this. */
const ROWS_BYTES = 64 << 20;
/** The most bytes of a row besides its key and value. */
const ROW_OVERHEAD = 16;

const durabilityOf = (sync) => (sync ? "sync" : "buffered");

const sizeOf = ([key, value]) => (key?.length ?? 0) + (value?.length ?? 0) + ROW_OVERHEAD;

/** A scan, read in pages. */
class ClientScan {
  #cursor;
  #back;
  #only;
  /** The mean size of the rows of the last page. */
  #rowBytes = 0;

  constructor(reader, { range, reverse, keys, values }) {
    this.#back = reverse;
    this.#only = values === undefined ? "keys" : keys === undefined ? "values" : undefined;
    this.#cursor = reader.cursor({
      ...range,
      rows: this.#only ?? "entries",
      ...BINARY,
    });
  }

  /** Reads the next rows, at most `count` and some `bytes` of them. */
  async read(count, bytes) {
    const size = Math.max(1, Math.min(count, Math.floor(bytes / this.#rowBytes)));
    const found = await (this.#back ? this.#cursor.prev(size) : this.#cursor.next(size));
    const rows = this.#only === undefined ? found : found.map((row) => this.#rowOf(row));
    if (rows.length === 0) return { rows, isLast: true };
    const read = rows.reduce((sum, row) => sum + sizeOf(row), 0);
    this.#rowBytes = read / rows.length;
    return { rows, isLast: rows.length < size && read < ROWS_BYTES };
  }

  /** Moves to a key. */
  seek(key) {
    this.#cursor.seek(key);
  }

  close() {
    this.#cursor.close();
  }

  #rowOf(content) {
    return this.#only === "keys" ? [content, undefined] : [undefined, content];
  }
}

/** An open store. */
export class ClientStore {
  #db;
  /** Snapshots by their numbers. */
  #snapshots = new Map();
  #nextSnapshot = 1;

  constructor(db) {
    this.#db = db;
  }

  async get(key, _encoding, snapshot) {
    return this.#reader(snapshot).get(key, BINARY_VALUE);
  }

  async getMany(keys, _encoding, snapshot) {
    return this.#reader(snapshot).getMany(keys, BINARY_VALUE);
  }

  async hasMany(keys, snapshot) {
    return this.#reader(snapshot).hasMany(keys);
  }

  async write(operations, sync) {
    const batch = operations.map(({ type, key, value }) =>
      type === "del" ? { type: "delete", key } : { type, key, value },
    );
    await this.#db.batch(batch, { durability: durabilityOf(sync) });
  }

  async clear(range, reverse, limit, sync) {
    const durability = durabilityOf(sync);
    if (limit === Infinity) await this.#db.deleteRange({ ...range, durability });
    else await this.#db.clear({ ...range, reverse, limit, durability });
  }

  snapshot() {
    this.#snapshots.set(this.#nextSnapshot, this.#db.snapshot());
    return this.#nextSnapshot++;
  }

  release(snapshot) {
    this.#snapshots.get(snapshot)?.release();
    this.#snapshots.delete(snapshot);
  }

  scan(request) {
    return new ClientScan(this.#reader(request.snapshot), request);
  }

  async approximateSize(range) {
    return this.#db.approximateSize(range);
  }

  async compactRange(range) {
    await this.#db.compactRange(range);
  }

  async close() {
    await this.#db.close();
  }

  #reader(snapshot) {
    return snapshot === 0 ? this.#db : this.#snapshots.get(snapshot);
  }
}
