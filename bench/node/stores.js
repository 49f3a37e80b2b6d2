/**
 * The stores that are compared, each behind the same calls. Keys are text of 16 characters and values are bytes, which
 * every store returns in memory of their own.
 *
 * A call that a store does not have is absent, and its workloads are left out.
 */

import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installPrivateFiles } from "./private-files.js";

/** Memory that each store may use for its cache and for its memtables, in bytes. */
const CACHE_BYTES = 64 << 20;
const MEMTABLE_BYTES = 64 << 20;

/** A Level database by the class that a package exports. */
function level(Level, options) {
  return async (path) => {
    const db = new Level(path, { valueEncoding: "view", ...options });
    await db.open();
    return {
      batch: (rows) => db.batch(rows.map(([key, value]) => ({ type: "put", key, value }))),
      put: (key, value) => db.put(key, value),
      putDurable: (key, value) => db.put(key, value, { sync: true }),
      get: (key) => db.get(key),
      getSync: (key) => db.getSync(key),
      getMany: (keys) => db.getMany(keys),
      async scan(from, count) {
        const iterator = db.iterator({ gte: from, limit: count });
        const rows = await iterator.all();
        return rows.length;
      },
      async scanByNext(from, count) {
        let rows = 0;
        for await (const _ of db.iterator({ gte: from, limit: count })) rows++;
        return rows;
      },
      async scanAll() {
        let rows = 0;
        for await (const _ of db.iterator()) rows++;
        return rows;
      },
      close: () => db.close(),
    };
  };
}

const OPTIONS = {
  cacheBytes: CACHE_BYTES,
  memtableBytes: MEMTABLE_BYTES,
  valueEncoding: "binary",
};

async function terrane(path) {
  const { open } = await import("terrane-node");
  const db = await open(path, OPTIONS);
  return {
    batch: (rows) => db.batch(rows.map(([key, value]) => ({ type: "put", key, value }))),
    put: (key, value) => db.put(key, value),
    putDurable: (key, value) => db.put(key, value, { durability: "sync" }),
    get: (key) => db.get(key),
    getMany: (keys) => db.getMany(keys),
    async scan(from, count) {
      let rows = 0;
      for await (const _ of db.entries({ gte: from, limit: count })) rows++;
      return rows;
    },
    async scanAll() {
      let rows = 0;
      for await (const _ of db.entries()) rows++;
      return rows;
    },
    close: () => db.close(),
  };
}

async function terraneSync(path) {
  const { open } = await import("terrane-node/sync");
  return synchronous(await open(path, OPTIONS));
}

/** The module of WebAssembly on `node:fs`. */
async function terraneModule(path) {
  installPrivateFiles(path);
  const { open } = await import("terrane/worker");
  const wasm = readFileSync(fileURLToPath(import.meta.resolve("terrane/terrane_bg.wasm")));
  return synchronous(await open("store", { ...OPTIONS, wasm: await WebAssembly.compile(wasm) }));
}

/** A store of Terrane that is called in its own thread. */
function synchronous(db) {
  return {
    batch: (rows) => db.batch(rows.map(([key, value]) => ({ type: "put", key, value }))),
    put: (key, value) => db.put(key, value),
    putDurable: (key, value) => db.put(key, value, { durability: "sync" }),
    getSync: (key) => db.get(key),
    getMany: (keys) => db.getMany(keys),
    scan(from, count) {
      let rows = 0;
      for (const _ of db.entries({ gte: from, limit: count })) rows++;
      return rows;
    },
    scanAll() {
      let rows = 0;
      for (const _ of db.entries()) rows++;
      return rows;
    },
    close: () => db.close(),
  };
}

async function lmdb(path) {
  const { open } = await import("lmdb");
  // Buffered: a put is committed without waiting for the device, as in the other stores.
  const db = open({ path, encoding: "binary", noSync: false, cache: false, mapSize: 4 << 30 });
  return {
    async batch(rows) {
      await db.batch(() => {
        for (const [key, value] of rows) db.put(key, value);
      });
    },
    putDurable: (key, value) => db.put(key, value),
    getSync: (key) => db.getBinary(key),
    getMany: (keys) => db.getMany(keys),
    scan(from, count) {
      let rows = 0;
      for (const { value } of db.getRange({ start: from, limit: count })) rows += value.length > 0;
      return rows;
    },
    scanAll() {
      let rows = 0;
      for (const { value } of db.getRange()) rows += value.length > 0;
      return rows;
    },
    close: () => db.close(),
  };
}

async function sqlite(path) {
  const { default: Database } = await import("better-sqlite3");
  const db = new Database(path);
  db.pragma("journal_mode = WAL");
  db.pragma(`cache_size = -${(CACHE_BYTES + MEMTABLE_BYTES) >> 10}`);
  db.exec("CREATE TABLE rows (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID");
  const put = db.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?)");
  const get = db.prepare("SELECT value FROM rows WHERE key = ?").pluck();
  const range = db.prepare("SELECT key, value FROM rows WHERE key >= ? ORDER BY key LIMIT ?").raw();
  const all = db.prepare("SELECT key, value FROM rows ORDER BY key").raw();
  const durability = (name) => {
    if (db.pragma("synchronous", { simple: true }) !== { NORMAL: 1, FULL: 2 }[name])
      db.pragma(`synchronous = ${name}`);
  };
  const bytes = (value) => Buffer.from(value.buffer, value.byteOffset, value.length);
  durability("NORMAL");
  return {
    batch: db.transaction((rows) => {
      for (const [key, value] of rows) put.run(key, bytes(value));
    }),
    put: (key, value) => (durability("NORMAL"), put.run(key, bytes(value))),
    putDurable: (key, value) => (durability("FULL"), put.run(key, bytes(value))),
    getSync: (key) => get.get(key),
    getMany: (keys) => keys.map((key) => get.get(key)),
    scan: (from, count) => range.all(from, count).length,
    scanAll() {
      let rows = 0;
      for (const _ of all.iterate()) rows++;
      return rows;
    },
    close: () => db.close(),
  };
}

/** The stores by name; each opens an empty one at a path. */
export const STORES = {
  async "terrane-level"(path) {
    const { TerraneLevel } = await import("terrane-level");
    const options = { cacheBytes: CACHE_BYTES, memtableBytes: MEMTABLE_BYTES };
    return level(TerraneLevel, options)(path);
  },
  async "classic-level"(path) {
    const { ClassicLevel } = await import("classic-level");
    const options = { cacheSize: CACHE_BYTES, writeBufferSize: MEMTABLE_BYTES };
    return level(ClassicLevel, options)(path);
  },
  "terrane-node": terrane,
  "terrane-node/sync": terraneSync,
  "terrane/worker": terraneModule,
  lmdb,
  "better-sqlite3": sqlite,
};
