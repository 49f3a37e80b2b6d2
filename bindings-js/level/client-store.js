/** A store of `terrane` with the interface of a store of `terrane-node/level`. */

/** Keys and values are bytes: Level encodes them. */
const BINARY = { keyEncoding: "binary", valueEncoding: "binary" };
const BINARY_VALUE = { valueEncoding: "binary" };

/** The rows of a cursor. */
class ClientIterator {
  #cursor;
  #back;
  #only;

  constructor(reader, { range, reverse, keys, values }) {
    this.#back = reverse;
    this.#only = values === undefined ? "keys" : keys === undefined ? "values" : undefined;
    this.#cursor = reader.cursor({
      ...range,
      rows: this.#only ?? "entries",
      ...BINARY,
    });
  }

  async next() {
    const [row] = await this.nextMany(1);
    return row;
  }

  async nextMany(count) {
    const rows = await (this.#back ? this.#cursor.prev(count) : this.#cursor.next(count));
    if (this.#only === undefined) return rows;
    return rows.map((row) => (this.#only === "keys" ? [row, undefined] : [undefined, row]));
  }

  seek(key) {
    this.#cursor.seek(key);
  }

  close() {
    this.#cursor.close();
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
    await this.#db.batch(batch, { durability: sync ? "sync" : "buffered" });
  }

  async clear(range, reverse, limit) {
    if (limit === Infinity) await this.#db.deleteRange(range);
    else await this.#db.clear({ ...range, reverse, limit });
  }

  snapshot() {
    this.#snapshots.set(this.#nextSnapshot, this.#db.snapshot());
    return this.#nextSnapshot++;
  }

  release(snapshot) {
    this.#snapshots.get(snapshot)?.release();
    this.#snapshots.delete(snapshot);
  }

  iterator(request) {
    return new ClientIterator(this.#reader(request.snapshot), request);
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
