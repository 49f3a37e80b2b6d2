/**
 * The messages between client and worker. A message carries many requests or many replies; a reply
 * has the id of its request. Keys, values, ranges and batches are encoded (encoder.ts). The client
 * assigns the numbers of keyspaces, snapshots and scans, so that it can use them at once; 0 is the
 * default keyspace, and no snapshot.
 */

import type { WasmModule } from "../api/options.ts";
import type { ThreadStats } from "../api/stats.ts";
import type { EncodedError } from "./error-codec.ts";

/** The most bytes that are copied to another thread: to transfer a buffer takes longer than to copy a small one. */
export const COPIED_BYTES = 4096;

/** Identifies a store, and who requests it. */
export interface StoreRequest {
  /** The store's name. */
  name: string;
  /** The page that opens it, for the error of a second opener. */
  page: string;
  /** Identifies the client among those that may hold the store: its page or worker, and its copy of the package. */
  client: string;
  /** Longest wait for another holder, in milliseconds. */
  timeout: number;
  /** The random id of the worker, if it serves other clients as well. */
  leader?: string | undefined;
}

/** The client that starts a worker which serves others as well. */
export interface Sharing {
  /** The client's id. */
  client: string;
  visible: boolean;
}

/** A build of the engine: a small one, and one with all policies. */
export type Build = "lean" | "all";

/** Request to open a store. */
export interface OpenRequest extends StoreRequest {
  storage: "opfs" | "memory";
  /** Whether to create the store if it does not exist. */
  create: boolean;
  /** The longest time before a buffered write is synced, in milliseconds. */
  syncInterval: number;
  /** The build that is needed at least. */
  build: Build;
  /** The module of that build or its URL, if it is not beside the worker's script. */
  wasm: string | WasmModule | undefined;
  /** Number of merges to run at once on threads, and the reason. */
  threads: ThreadStats;
  /** Whether to fail if the store exists. */
  errorIfExists: boolean;
  /** Options of the engine, which has its own defaults; the policy is JSON. */
  memtableBytes: number | undefined;
  cacheBytes: number | undefined;
  filterBits: number | undefined;
  feedBytes: number | undefined;
  policy: string | undefined;
  /** Whether the default keyspace keeps its current policy. */
  keepPolicy: boolean;
  /** Whether the store is only read, in Node. */
  readOnly?: boolean;
  /** Undefined if the worker serves nobody else. */
  sharing?: Sharing | undefined;
}

/** The reply to a request to open a store. */
export interface Opened {
  /** The name of the lock that the worker holds from now on; undefined where it shares no locks with its page. */
  lock: string | undefined;
  /** The random number of the store: another of the same name has another. */
  store: number;
}

/** The entries that a scan returns; the limit is Infinity if there is none. */
export interface ScanRequest {
  keyspace: number;
  snapshot: number;
  range: Uint8Array;
  reverse: boolean;
  limit: number;
}

/** The next rows of a cursor, or the previous ones if `back`. */
export interface RowsRequest {
  seek: Uint8Array | undefined;
  count: number;
  back: boolean;
  keys: boolean;
  values: boolean;
}

/** A question about the next change of a watch; a worker that does not know it starts it with a change. */
export interface WatchRequest {
  watch: number;
  /** The ranges, each after the number of its keyspace and its length. */
  ranges: Uint8Array;
  /** Whether to return keys. */
  keys: boolean;
}

/** Changes of a watch since the last. */
export interface Changed {
  sequence: number;
  /** The list of keys; undefined if they are too many. */
  bytes: Uint8Array | undefined;
}

/** The methods of the engine's store. The strings that they return are JSON, but for cursors of the change feed. */
export interface Methods {
  approximate_size(keyspace: number, range: Uint8Array): number;
  check(): string;
  /** Deletes the first keys of a range, or the last if `reverse`; returns their number, and adds it to `record`. */
  clear(
    keyspace: number,
    range: Uint8Array,
    reverse: boolean,
    limit: number,
    sync: boolean,
    record?: Uint8Array,
  ): string;
  compact_range(keyspace: number, range: Uint8Array): void;
  drop_keyspace(name: string): boolean;
  /** Deletes what recovery has quarantined; returns its size in bytes. */
  drop_quarantine(): number;
  /** Syncs, and returns a page of batches after a cursor of the change feed (feed.ts). */
  feed(since: string): Uint8Array;
  /** Syncs, and returns the place in the change feed after a snapshot or after all writes. */
  feed_cursor(snapshot: number): string;
  flush(): void;
  /** Returns the encoded value of a key with its version; no bytes if the key does not exist. */
  get_versioned(keyspace: number, snapshot: number, key: Uint8Array): Uint8Array;
  /** Returns a byte for each encoded key, 1 if it has a value. */
  has_many(keyspace: number, snapshot: number, keys: Uint8Array): Uint8Array;
  /** Opens a keyspace under a number; returns the engine's id. */
  keyspace(keyspace: number, name: string, create: boolean, policy?: string): number;
  /** Opens the keyspace with that id under a number, if it still exists. */
  restore_keyspace(keyspace: number, id: number): void;
  keyspaces(): string;
  levels(keyspace: number): string;
  policy(keyspace: number): string;
  /** Releases a snapshot. */
  release(snapshot: number): void;
  set_policy(keyspace: number, policy: string): void;
  /** Takes a snapshot under a number. */
  snapshot(snapshot: number): void;
  stats(): string;
  sync(): void;
  /** Traces a get. */
  trace(keyspace: number, snapshot: number, key: Uint8Array): string;
  /** Traces a scan's seek to its first entry. */
  trace_scan(keyspace: number, snapshot: number, range: Uint8Array, reverse: boolean): string;
  /** Starts a watch of ranges, each after the number of its keyspace and its length, or asks for its next change. */
  watch(watch: number, ranges: Uint8Array, keys: boolean, asks: boolean): void;
  /** Commits a batch if conditions hold, durably if `sync`; returns the encoded outcome. */
  write_if(conditions: Uint8Array, batch: Uint8Array, sync: boolean): Uint8Array;
}

/** The name of a method of the engine's store. */
export type Method = keyof Methods;

/** The name of a method that returns JSON. */
export type JsonMethod = Exclude<
  { [N in Method]: ReturnType<Methods[N]> extends string ? N : never }[Method],
  "clear" | "feed_cursor"
>;

/** The arguments of a method. */
export type Arguments<M extends Method> = Parameters<Methods[M]>;

/** Result of a method's call. */
export type Returned<M extends Method> = Promise<ReturnType<Methods[M]>>;

/** A call of the engine's store. */
export interface Call extends Numbered {
  op: "call";
  method: Method;
  args: unknown[];
}

/** A write that takes effect once, however often it is sent. */
export interface Numbered {
  /**
   * The number of the first write of the operation among those of its client, from 1, and the number of the client's
   * oldest write that is yet to be answered; undefined for a write that is sent once.
   */
  once?: { number: number; oldest: number } | undefined;
}

/**
 * The boundaries of calls that share an operation. They succeed together; otherwise each is tried by itself,
 * and the reply's value is a list of their outcomes.
 */
export interface Grouped {
  /** The end of each call's bytes; undefined for a single call. */
  ends?: Uint32Array | undefined;
}

/** The lookup of a single key. */
export interface Lookup {
  keyspace: number;
  snapshot: number;
  key: string;
  /** Whether the value will be read as text. */
  text: boolean;
}

/** Operation of a worker. */
export type Operation =
  | ({ op: "open" } & OpenRequest)
  /** Commits a batch, of one or several calls; if `sync`, the reply waits until it is durable. */
  | ({ op: "write"; batch: Uint8Array; sync: boolean } & Grouped & Numbered)
  /** Looks up the keys of one or several calls. */
  | ({ op: "get"; keyspace: number; snapshot: number; keys: Uint8Array } & Grouped)
  /** Looks up one key; the reply has its value as `text` if it is valid UTF-8, otherwise in bytes. */
  | ({ op: "lookup" } & Lookup)
  /** Starts a scan under a number. */
  | ({ op: "scan"; scan: number } & ScanRequest)
  /** Reads the next entries: at least one, then as many as fit into `bytes`. */
  | { op: "page"; scan: number; bytes: number; keys: boolean; values: boolean }
  | { op: "count"; scan: number; entries: number }
  /** Moves to `seek` if there is one, then reads rows in one direction. */
  | ({ op: "rows"; scan: number } & RowsRequest)
  | { op: "endScan"; scan: number }
  /** Asks for the next change; the reply has none if the watch ended, or the page is suspended. */
  | ({ op: "watch" } & WatchRequest)
  | { op: "endWatch"; watch: number }
  | Call
  /** Asks whether the worker still serves; the reply comes at once, and has no request. */
  | { op: "ping" }
  /** The client's snapshots and iterations ended with the previous worker, for that reason. */
  | { op: "ended"; why: string }
  /** The client's page has become visible, or hidden. */
  | { op: "show"; visible: boolean }
  /** Turns events on or off. */
  | { op: "listen"; on: boolean }
  /** Copies the store to another name on this origin. */
  | ({ op: "checkpoint" } & StoreRequest)
  /** Exports the store as a file, which exists until `endExport`. */
  | { op: "export" }
  | { op: "endExport"; file: string }
  /** Starts a new store from a file, whose bytes follow. */
  | ({ op: "import" } & OpenRequest)
  | { op: "importBytes"; bytes: Uint8Array }
  /** Finishes the import, or cancels it if the file is not `complete`. */
  | { op: "endImport"; complete: boolean }
  /** Syncs, and closes the store after everything in progress. */
  | { op: "close" }
  /** Closes the store, unless that would end a snapshot or a long call; returns whether it did. */
  | { op: "handOver" }
  /** Syncs at once, aborts long calls, and closes the store. */
  | { op: "suspend" }
  /** Deletes a store that is not open. */
  | ({ op: "destroy" } & StoreRequest);

/** A worker's first operation. */
export type FirstOperation = Extract<Operation, { op: "open" | "import" | "destroy" }>;

/** An operation on an open store. */
export type StoreOperation = Exclude<
  Operation,
  FirstOperation | { op: "importBytes" | "endImport" | "ping" | "show" | "listen" | "handOver" }
>;

/** An operation with its id. */
export type Request = Operation & { id: number };

/** A page of a scan. */
export interface Page {
  /** The byte lists of a projection. */
  bytes: Uint8Array;
  /** Whether the scan ended with this page. */
  done: boolean;
}

/** Result of one step of counting. */
export interface Counted {
  entries: number;
  done: boolean;
}

/** A store as a file. */
export interface Exported {
  blob: Blob;
  /** Its name for `endExport`; undefined if it occupies no storage. */
  file: string | undefined;
}

/** The result of a request. */
export type Outcome = { value: unknown } | { error: EncodedError };

/**
 * The reply to the request with that id. Replies with the id 0 belong to no request: they carry
 * events, each as JSON, a notice, or the error after which the worker does nothing more.
 */
export type Reply = Outcome & { id: number };

/** Notice that another client will lead. It asks the worker's own page to close, and others to find the next worker. */
export interface Leaves {
  /** The id of the client that should lead next; undefined for any. */
  successor: string | undefined;
}

/** The name of the lock that a store's holder has. */
export function storeLock(name: string): string {
  return `terrane:${name}`;
}

/** The name of the lock that a client's page holds until its worker has opened a store. */
export function pageLock(client: string): string {
  return `terrane-page:${client}`;
}

/** Description of the holder, in the name of a second lock. */
export interface LockHolder {
  name: string;
  page: string;
  client: string;
  /** Time at which it opened the store, in ISO 8601. */
  since: string;
  /** The random id of its worker, if that serves other clients as well. */
  leader?: string | undefined;
}

const HOLDER = "terrane-holder:";

/** The name of the lock that describes the holder of a store. */
export function holderLock(holder: LockHolder): string {
  return HOLDER + JSON.stringify(holder);
}

/** Parses the name of such a lock; undefined for any other lock. */
export function parseHolder(lock: string | undefined): LockHolder | undefined {
  if (!lock?.startsWith(HOLDER)) return undefined;
  try {
    return JSON.parse(lock.slice(HOLDER.length)) as LockHolder;
  } catch {
    return undefined;
  }
}
