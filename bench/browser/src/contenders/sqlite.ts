/** SQLite on its pool of OPFS access handles, called in the worker that owns it. */

import sqlite3InitModule, { type SAHPoolUtil } from "@sqlite.org/sqlite-wasm";
import type { Contender, Entry, Store } from "../contender.ts";
import { checkMode, SETTINGS, STATEMENTS, TABLE } from "./sql.ts";

const DIRECTORY = "/comparison-sqlite";

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
  checkMode(db.selectValue("PRAGMA journal_mode"));
  db.exec(TABLE);
  const begin = db.prepare(STATEMENTS.begin);
  const commit = db.prepare(STATEMENTS.commit);
  const replace = db.prepare(STATEMENTS.replace);
  const select = db.prepare(STATEMENTS.select);
  const range = db.prepare(STATEMENTS.range);

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
