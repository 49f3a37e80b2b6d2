/**
 * What client and worker say to each other. A message carries many requests, or many replies; each
 * reply names its request by the id. Keys, values, ranges and batches travel packed (packing.ts).
 * The client numbers keyspaces, snapshots and scans, so that it can use them at once; 0 is the
 * default keyspace, and no snapshot.
 */

import type { WireError } from "./wire.ts";

/** What a store is asked for under. */
export interface StoreRequest {
  /** The store's name. */
  name: string;
  /** The page that opens it, for the sentence that a second opener gets. */
  page: string;
  /** Names the client, so that it can tell itself from others. */
  client: string;
  /** How long to wait for another holder, in milliseconds. */
  timeout: number;
}

/** How a worker is to open a store. */
export interface OpenRequest extends StoreRequest {
  storage: "opfs" | "memory";
  /** Whether to create the store if there is none. */
  create: boolean;
  /** The longest that a buffered write waits for its sync, in milliseconds. */
  syncInterval: number;
  /** The module or where it lies, if not beside the worker. */
  wasm: string | WebAssembly.Module | undefined;
  /** Whether to refuse a store that is there. */
  errorIfExists: boolean;
  /** Options of the engine, with defaults of its own; the policy is JSON. */
  memtableBytes: number | undefined;
  cacheBytes: number | undefined;
  policy: string | undefined;
  /** Whether the default keyspace keeps the policy that it has. */
  keepPolicy: boolean;
}

/** Which entries a scan gives. No limit is Infinity. */
export interface ScanRequest {
  keyspace: number;
  snapshot: number;
  range: Uint8Array;
  reverse: boolean;
  limit: number;
}

/** The methods of the engine's store. Strings that they return are JSON. */
export interface Methods {
  approximate_size(keyspace: number, range: Uint8Array): number;
  check(): string;
  compact_range(keyspace: number, range: Uint8Array): void;
  drop_keyspace(name: string): boolean;
  /** Removes what recovery has set aside; how many bytes. */
  drop_set_aside(): number;
  flush(): void;
  /** Opens a keyspace under a number; its id. */
  keyspace(keyspace: number, name: string, create: boolean, policy?: string): number;
  /** Opens the keyspace of an id under a number, if there still is one. */
  keyspace_again(keyspace: number, id: number): void;
  keyspaces(): string;
  levels(keyspace: number): string;
  policy(keyspace: number): string;
  /** Lets go of a snapshot. */
  release(snapshot: number): void;
  set_policy(keyspace: number, policy: string): void;
  /** Holds a picture of the store under a number. */
  snapshot(snapshot: number): void;
  stats(): string;
  sync(): void;
  /** How the value of a key is found. */
  trace(keyspace: number, snapshot: number, key: Uint8Array): string;
  /** How a scan comes to its first entry. */
  trace_scan(keyspace: number, snapshot: number, range: Uint8Array, reverse: boolean): string;
}

/** The name of a method. */
export type Method = keyof Methods;

/** What a method is given. */
export type Arguments<M extends Method> = Parameters<Methods[M]>;

/** What a method promises across the line. */
export type Answer<M extends Method> = Promise<ReturnType<Methods[M]>>;

/** A call of the engine's store. */
export interface Call {
  op: "call";
  method: Method;
  args: unknown[];
}

/** What a worker can be asked to do. */
export type Operation =
  | ({ op: "open" } & OpenRequest)
  /** A batch, for its sequence; if `sync`, the reply waits until it is durable. */
  | { op: "write"; batch: Uint8Array; sync: boolean }
  /** The values of packed keys. */
  | { op: "get"; keyspace: number; snapshot: number; keys: Uint8Array }
  /** Begins a scan under a number. */
  | ({ op: "scan"; scan: number } & ScanRequest)
  /** At least one entry more, then as many as fit. */
  | { op: "page"; scan: number; bytes: number; keys: boolean; values: boolean }
  | { op: "count"; scan: number; entries: number }
  | { op: "endScan"; scan: number }
  | Call
  /** Whether events are to be sent. */
  | { op: "listen"; on: boolean }
  /** Copies the store to another on this origin. */
  | ({ op: "checkpoint" } & StoreRequest)
  /** The store as a file, which stands until it is given back by its name. */
  | { op: "export" }
  | { op: "endExport"; file: string }
  /** Begins a new store from a file whose bytes follow. */
  | ({ op: "import" } & OpenRequest)
  | { op: "importBytes"; bytes: Uint8Array }
  /** All bytes have come, or none will. */
  | { op: "endImport"; whole: boolean }
  /** Syncs, and lets go of everything after what is under way. */
  | { op: "close" }
  /** Syncs at once, calls off what is under way, and lets go of everything. */
  | { op: "leave" }
  /** Deletes a store that is not open. */
  | ({ op: "destroy" } & StoreRequest);

/** What a worker is asked first. */
export type Opening = Extract<Operation, { op: "open" | "import" | "destroy" }>;

/** What an open store is asked. */
export type StoreOperation = Exclude<
  Operation,
  Opening | { op: "importBytes" } | { op: "endImport" }
>;

/** An operation with its id. */
export type Request = Operation & { id: number };

/** A page of a scan. */
export interface Page {
  /** Packed keys, values or pairs. */
  strings: Uint8Array;
  /** Whether the scan ended with them. */
  done: boolean;
}

/** What was counted of a scan in one step. */
export interface Counted {
  entries: number;
  done: boolean;
}

/** A store as a file. */
export interface Exported {
  blob: Blob;
  /** By which it is given back; undefined if it takes no room. */
  file: string | undefined;
}

/** How a request ended. */
export type Outcome = { value: unknown } | { error: WireError };

/**
 * The reply to the request of that id. What nobody requested has the id 0: events, each as JSON, or
 * the error after which the worker does nothing more.
 */
export type Reply = Outcome & { id: number };

/** The name of the lock that a store's owner holds. */
export function storeLock(name: string): string {
  return `terrane:${name}`;
}

/** What an owner says of itself, in the name of a second lock. */
export interface Holder {
  name: string;
  page: string;
  client: string;
  /** When it opened the store, in ISO 8601. */
  since: string;
}

const HOLDER = "terrane-holder:";

/** The name of the lock that says who holds a store. */
export function holderLock(holder: Holder): string {
  return HOLDER + JSON.stringify(holder);
}

/** Reads a lock's name back; undefined for locks of others. */
export function parseHolder(lock: string | undefined): Holder | undefined {
  if (!lock?.startsWith(HOLDER)) return undefined;
  try {
    return JSON.parse(lock.slice(HOLDER.length)) as Holder;
  } catch {
    return undefined;
  }
}
