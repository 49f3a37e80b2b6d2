/// <reference lib="esnext.disposable" preserve="true" />
/** An ordered key-value store for the browser: the client, in a page or a worker. */

export * from "../api/index.ts";
export type { Db, Keyspace, Reader, Snapshot, Transaction } from "./db.ts";
export { destroy, exists, importStore, type OpenOptions, open, stores } from "./open.ts";
