/**
 * wa-sqlite on its pool of OPFS access handles, called in the worker that owns it. Its calls return
 * promises even in the build without Asyncify, which is the one that this pool works with.
 */

import * as SQLite from "@journeyapps/wa-sqlite";
import loadModule from "@journeyapps/wa-sqlite/dist/wa-sqlite.mjs";
import { AccessHandlePoolVFS } from "@journeyapps/wa-sqlite/src/examples/AccessHandlePoolVFS.js";
import type { Contender, Entry, Store } from "../contender.ts";
import { removeDirectory } from "../opfs.ts";
import { serialQueue } from "../serial-queue.ts";
import { checkMode, SETTINGS, STATEMENTS, TABLE } from "./sql.ts";

const DIRECTORY = "comparison-wa-sqlite";

const loading = loadModule().then((module) => ({ module, sqlite3: SQLite.Factory(module) }));
let opened = 0;

export const waSqlite: Contender = {
  async open() {
    const { module, sqlite3 } = await loading;
    await removeDirectory(DIRECTORY);
    // A closed pool cannot be opened again, and SQLite finds the oldest of a name.
    const pool = await AccessHandlePoolVFS.create(`${DIRECTORY}/${++opened}`, module);
    sqlite3.vfs_register(pool, true);
    const db = await sqlite3.open_v2("comparison");
    return store(sqlite3, db, pool);
  },
};

async function store(sqlite3: SQLiteAPI, db: number, pool: AccessHandlePoolVFS): Promise<Store> {
  await sqlite3.exec(db, SETTINGS);
  await sqlite3.exec(db, "PRAGMA journal_mode", ([mode]) => checkMode(mode));
  await sqlite3.exec(db, TABLE);
  const prepare = async (sql: string) => {
    for await (const statement of sqlite3.statements(db, sql, { unscoped: true })) return statement;
    throw new Error(`no statement in ${sql}`);
  };
  const begin = await prepare(STATEMENTS.begin);
  const commit = await prepare(STATEMENTS.commit);
  const replace = await prepare(STATEMENTS.replace);
  const select = await prepare(STATEMENTS.select);
  const range = await prepare(STATEMENTS.range);

  const execute = async (statement: number) => {
    await sqlite3.step(statement);
    await sqlite3.reset(statement);
  };
  const put = ([key, value]: Entry) => {
    sqlite3.bind_blob(replace, 1, key);
    sqlite3.bind_blob(replace, 2, value);
    return execute(replace);
  };
  const get = async (key: Uint8Array) => {
    sqlite3.bind_blob(select, 1, key);
    const found = (await sqlite3.step(select)) === SQLite.SQLITE_ROW;
    // The column is a view of the module's memory.
    const value = found ? sqlite3.column_blob(select, 0).slice() : undefined;
    await sqlite3.reset(select);
    return value;
  };
  const together = async <T>(body: () => Promise<T>) => {
    await execute(begin);
    const result = await body();
    await execute(commit);
    return result;
  };

  // Operations share a connection and its statements.
  const inTurn = serialQueue();
  return {
    batch: (entries) =>
      inTurn(() =>
        together(async () => {
          for (const entry of entries) await put(entry);
        }),
      ),
    put: (entry) => inTurn(() => put(entry)),
    get: (key) => inTurn(() => get(key)),
    getMany: (keys) =>
      inTurn(() =>
        together(async () => {
          const values: (Uint8Array | undefined)[] = [];
          for (const key of keys) values.push(await get(key));
          return values;
        }),
      ),
    scan: (from, count) =>
      inTurn(async () => {
        const entries: Entry[] = [];
        sqlite3.bind_blob(range, 1, from);
        sqlite3.bind_int(range, 2, count);
        while ((await sqlite3.step(range)) === SQLite.SQLITE_ROW) {
          entries.push([
            sqlite3.column_blob(range, 0).slice(),
            sqlite3.column_blob(range, 1).slice(),
          ]);
        }
        await sqlite3.reset(range);
        return entries;
      }),
    async close() {
      for (const statement of [begin, commit, replace, select, range]) {
        await sqlite3.finalize(statement);
      }
      await sqlite3.close(db);
      await pool.close();
    },
  };
}
