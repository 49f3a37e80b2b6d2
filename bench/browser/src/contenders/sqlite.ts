/** SQLite on its pool of OPFS access handles, called in the worker that owns it. */

import sqlite3InitModule, { type SAHPoolUtil } from "@sqlite.org/sqlite-wasm";
import { CACHE_BYTES, type Contender, type Entry, type Store } from "../contender.ts";

const DIRECTORY = "/comparison-sqlite";
/** In exclusive mode WAL needs no shared memory, which this VFS does not have. */
const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = ${-CACHE_BYTES / 1024};
`;

const sqlite3 = sqlite3InitModule();
let pool: Promise<SAHPoolUtil> | undefined;

export const sqlite: Contender = {
  async open() {
    pool ??= (await sqlite3).installOpfsSAHPoolVfs({ directory: DIRECTORY });
    const files = await pool;
    if (files.isPaused()) await files.unpauseVfs();
    await files.wipeFiles();
    return store(files);
  },
};

function store(files: SAHPoolUtil): Store {
  const db = new files.OpfsSAHPoolDb("/comparison");
  db.exec(SETTINGS);
  const mode = db.selectValue("PRAGMA journal_mode");
  if (mode !== "wal") throw new Error(`journal_mode: expected wal, found ${mode}`);
  db.exec("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID");
  const begin = db.prepare("BEGIN");
  const commit = db.prepare("COMMIT");
  const replace = db.prepare("REPLACE INTO entries VALUES (?, ?)");
  const select = db.prepare("SELECT value FROM entries WHERE key = ?");
  const range = db.prepare("SELECT key, value FROM entries WHERE key >= ? ORDER BY key LIMIT ?");

  const put = ([key, value]: Entry) => {
    replace.bind(1, key).bind(2, value).stepReset();
  };
  const get = (key: Uint8Array) => {
    select.bind(1, key);
    const value = select.step() ? select.getBlob(0)! : undefined;
    select.reset();
    return value;
  };
  const together = <T>(body: () => T): T => {
    begin.stepReset();
    const result = body();
    commit.stepReset();
    return result;
  };
  return {
    batch: (entries) => together(() => entries.forEach(put)),
    put,
    get,
    getMany: (keys) => together(() => keys.map(get)),
    scan(from, count) {
      const entries: Entry[] = [];
      range.bind(1, from).bind(2, count);
      while (range.step()) entries.push([range.getBlob(0)!, range.getBlob(1)!]);
      range.reset();
      return entries;
    },
    close() {
      for (const statement of [begin, commit, replace, select, range]) statement.finalize();
      db.close();
      // Releases the files for the next worker.
      files.pauseVfs();
    },
  };
}
