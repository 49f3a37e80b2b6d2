/// <reference lib="esnext.disposable" preserve="true" />
/** An ordered key-value store for the browser: the client, in a page or a worker. */

export * from "../api/data.ts";
export * from "../api/errors.ts";
export type * from "../api/events.ts";
export type * from "../api/options.ts";
export type * from "../api/policies.ts";
export type * from "../api/stats.ts";
export type * from "../api/store.ts";
export type * from "../api/trace.ts";
export type { Db, Keyspace, Reader, Snapshot, Transaction } from "./db.ts";
export { exists, stores } from "../shared/stores.ts";
export { destroy, importStore, type OpenOptions, open } from "./open.ts";
