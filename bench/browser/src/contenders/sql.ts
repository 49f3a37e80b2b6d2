/** SQL for SQLite, the same for every build of it. */

import { CACHE_BYTES } from "../contender.ts";

/** In exclusive mode WAL needs no shared memory, which a pool of access handles does not have. */
export const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = ${-CACHE_BYTES / 1024};
`;

export const TABLE =
  "CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";

/** Statements that are prepared once. */
export const STATEMENTS = {
  begin: "BEGIN",
  commit: "COMMIT",
  replace: "REPLACE INTO entries VALUES (?, ?)",
  select: "SELECT value FROM entries WHERE key = ?",
  range: "SELECT key, value FROM entries WHERE key >= ? ORDER BY key LIMIT ?",
};

/** Fails unless SQLite took the journal mode that was asked for. */
export function checkMode(mode: unknown): void {
  if (mode !== "wal") throw new Error(`journal_mode: expected wal, found ${mode}`);
}
