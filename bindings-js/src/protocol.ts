/**
 * What client and worker say to each other. A message carries many requests, or many replies; each
 * reply answers one request by its id. Keys, values and batches travel packed (packing.ts).
 */

import type { WireError } from "./errors.ts";

/** How a worker is to open a store. */
export interface OpenRequest {
  /** The store's name. */
  name: string;
  /** The page that opens it, for the sentence that a second opener gets. */
  page: string;
  /** Names the client, so that it can tell itself from others. */
  client: string;
  /** Whether to create the store if there is none. */
  createIfMissing: boolean;
  /** How long to wait for another holder, in milliseconds. */
  timeout: number;
  /** The longest that a buffered write waits for its sync, in milliseconds. */
  syncInterval: number;
  /** Where the module lies, if not beside the worker. */
  wasmUrl: string | undefined;
  /** Options of the engine, as JSON. */
  engine: string;
}

/** Bounds of a scan, as encoded keys; an open side is undefined. No limit is Infinity. */
export interface Range {
  from: Uint8Array | undefined;
  fromInclusive: boolean;
  to: Uint8Array | undefined;
  toInclusive: boolean;
  reverse: boolean;
  limit: number;
}

/** What a worker can be asked. */
export type Operation =
  | ({ op: "open" } & OpenRequest)
  /** A batch; if `sync`, the reply waits until it is on the medium. */
  | { op: "write"; batch: Uint8Array; sync: boolean }
  /** The values of packed keys. */
  | { op: "get"; keys: Uint8Array }
  /** Begins a scan under a number of the client's choice. */
  | ({ op: "scan"; scan: number } & Range)
  /** At least one entry more, then as many as fit. */
  | { op: "page"; scan: number; bytes: number }
  | { op: "count"; scan: number; entries: number }
  | { op: "endScan"; scan: number }
  | { op: "flush" | "sync" | "stats" | "check" }
  /** About so many bytes of jobs; whether more is left. */
  | { op: "jobs"; bytes: number }
  /** Syncs and lets go of everything. */
  | { op: "close" };

/** An operation with its id. */
export type Request = Operation & { id: number };

/** A page of a scan. */
export interface Page {
  /** Packed pairs. */
  pairs: Uint8Array;
  /** Whether the scan ended with them. */
  done: boolean;
}

/** What was counted of a scan in one step. */
export interface Counted {
  entries: number;
  done: boolean;
}

/** The answer to the request of that id. */
export type Reply = { id: number; value: unknown } | { id: number; error: WireError };

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
