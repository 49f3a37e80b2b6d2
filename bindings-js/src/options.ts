/** How stores are opened and calls are made, and what is refused of it. */

import type { WaitOptions } from "./abort.ts";
import { check, isTagged, oneOf, refused } from "./argument.ts";
import { UnavailableError } from "./errors.ts";
import { type Encoding, packRange, type RangeOptions } from "./packing.ts";
import { packPolicy, type Policy } from "./policies.ts";
import type { OpenRequest, ScanRequest, StoreRequest } from "./protocol.ts";

/**
 * When a write counts as done: `"sync"`, when it is durable; `"buffered"`, when the engine
 * has it. Buffered writes become durable within the store's `syncInterval`, with the next sync
 * write, and when the page hides. A crash of the browser or the machine loses at most the buffered
 * writes since, the last ones first, and never a part of a batch.
 */
export type Durability = "sync" | "buffered";

/** Options of a write. */
export interface WriteOptions {
  /** Default: the store's. */
  durability?: Durability | undefined;
}

/** Options of a read. */
export interface ReadOptions<V extends Encoding> {
  /** How values come back. Default: the keyspace's. */
  valueEncoding?: V | undefined;
}

/** Options of an iteration. */
export interface EntriesOptions<K extends Encoding, V extends Encoding>
  extends RangeOptions, ReadOptions<V> {
  /** How keys come back. Default: the keyspace's. */
  keyEncoding?: K | undefined;
  /** Begin with the last key. Default: false. */
  reverse?: boolean | undefined;
  /** At most so many entries. Default: all. */
  limit?: number | undefined;
}

/** How a read's keys and values come back. */
export interface Encodings<K extends Encoding, V extends Encoding> {
  /** How keys come back. Default: the store's, and "utf8" for a store. */
  keyEncoding?: K | undefined;
  /** How values come back. Default: the store's, and "utf8" for a store. */
  valueEncoding?: V | undefined;
}

/** Options of a keyspace. */
export interface KeyspaceOptions<K extends Encoding, V extends Encoding> extends Encodings<K, V> {
  /** Whether to create the keyspace if there is none. Default: true. */
  create?: boolean | undefined;
  /** Its compaction policy from now on. Default: the one it has, or the store's for a new one. */
  policy?: Policy | undefined;
}

/** Options of a store. */
export interface StoreOptions<K extends Encoding = "utf8", V extends Encoding = "utf8">
  extends WaitOptions, Encodings<K, V> {
  /**
   * Where the store lies: on the origin's private file system, or in memory, where it ends with the
   * worker and nobody else sees it. Default: "opfs".
   */
  storage?: "opfs" | "memory" | undefined;
  /** Whether to create the store if there is none. Default: true. */
  create?: boolean | undefined;
  /** Whether to refuse a store that is there already. Default: false. */
  errorIfExists?: boolean | undefined;
  /**
   * The compaction policy of the default keyspace from now on, and of keyspaces that are created.
   * Default: the one it has, or "leveled" for a new store.
   */
  policy?: Policy | undefined;
  /** When a write counts as done, unless it says so itself. Default: "buffered". */
  durability?: Durability | undefined;
  /** The longest that a buffered write waits for its sync, in milliseconds. Default: 1000. */
  syncInterval?: number | undefined;
  /**
   * How long to wait while another tab, or a page that is just going away, holds the store, in
   * milliseconds. Default: 5000.
   */
  timeout?: number | undefined;
  /** The WebAssembly module, or where it lies if not beside the worker's script. */
  wasm?: string | URL | WebAssembly.Module | undefined;
  /** Bytes of writes that are gathered in memory before they become a table. Default: 4 MiB. */
  memtableBytes?: number | undefined;
  /** Bytes of blocks that are kept in memory for reads. Default: 8 MiB. */
  cacheBytes?: number | undefined;
}

/** What calls fall back on where they do not say. */
export interface Defaults<K extends Encoding, V extends Encoding> {
  durability: Durability;
  keyEncoding: K;
  valueEncoding: V;
}

const DEFAULT_TIMEOUT = 5000;
/** The longest time that a timer takes. */
const LONGEST_TIME = 2 ** 31 - 1;
const LEAST_MEMTABLE_BYTES = 64 << 10;
/** The most that an option may take of the module's 4 GiB. */
const MOST_BYTES = 1 << 30;

/** Names this page or worker among those that may hold a store. */
const client: string = globalThis.crypto?.randomUUID?.() ?? "";

/** Who asks for the store of that name. */
export function toStoreRequest(name: string, timeout: number = DEFAULT_TIMEOUT): StoreRequest {
  checkName("name", name, /^[^/\\\0]{1,100}$/u, "1 to 100 characters without slashes");
  check("name", name, name !== "." && name !== "..", "no dots alone");
  // The address, without what may be private in it; a worker made of a blob has none of its own.
  const { origin = "", pathname = "", protocol } = globalThis.location ?? {};
  const page = protocol === "blob:" ? origin : origin + pathname;
  return { name, client, page, timeout: checkTime("timeout", timeout) };
}

/** The options as a worker gets them. */
export function toRequest<K extends Encoding, V extends Encoding>(
  name: string,
  options: StoreOptions<K, V>,
): OpenRequest {
  const { storage = "opfs", create = true, errorIfExists = false, wasm, policy } = options;
  return {
    ...toStoreRequest(name, options.timeout),
    storage: oneOf("storage", storage, "opfs", "memory"),
    create: checkSwitch("create", create),
    syncInterval: checkTime("syncInterval", options.syncInterval ?? 1000),
    wasm: toModule(wasm),
    keepPolicy: false,
    errorIfExists: checkSwitch("errorIfExists", errorIfExists),
    memtableBytes: checkBytes("memtableBytes", options.memtableBytes, LEAST_MEMTABLE_BYTES),
    cacheBytes: checkBytes("cacheBytes", options.cacheBytes, 0),
    policy: toPolicy(policy),
  };
}

/** What calls fall back on. */
export function toDefaults<K extends Encoding, V extends Encoding>(
  options: StoreOptions<K, V>,
): Defaults<K, V> {
  return {
    durability: toDurability(options, "buffered"),
    ...toEncodings(options, { keyEncoding: "utf8" as K, valueEncoding: "utf8" as V }),
  };
}

/** The encodings that a call or a keyspace asks for. */
export function toEncodings<K extends Encoding, V extends Encoding>(
  { keyEncoding, valueEncoding }: Encodings<K, V>,
  defaults: { keyEncoding: Encoding; valueEncoding: Encoding },
): { keyEncoding: K; valueEncoding: V } {
  return {
    keyEncoding: toEncoding("keyEncoding", keyEncoding ?? (defaults.keyEncoding as K)),
    valueEncoding: toEncoding("valueEncoding", valueEncoding ?? (defaults.valueEncoding as V)),
  };
}

/** The encoding that a call asks for. */
export function toEncoding<E extends Encoding>(what: string, encoding: E): E {
  return oneOf<Encoding>(what, encoding, "utf8", "binary") as E;
}

/** When a write counts as done. */
export function toDurability({ durability }: WriteOptions, byDefault: Durability): Durability {
  return oneOf("durability", durability ?? byDefault, "sync", "buffered");
}

/** What is asked of a keyspace that is opened: whether to create it, and its policy, packed. */
export function toKeyspace<K extends Encoding, V extends Encoding>(
  name: string,
  { create = true, policy }: KeyspaceOptions<K, V>,
): [name: string, create: boolean, policy: string | undefined] {
  return [checkKeyspaceName(name), checkSwitch("create", create), toPolicy(policy)];
}

function toPolicy(policy: Policy | undefined): string | undefined {
  return policy === undefined ? undefined : packPolicy(policy);
}

/** Refuses what is no name of a keyspace. */
export function checkKeyspaceName(name: string): string {
  return checkName("keyspace", name, /^.{1,255}$/su, "1 to 255 characters");
}

/** Which entries an iteration is to give. */
export function toScan(
  { keyspace, snapshot }: { keyspace: number; snapshot: number },
  options: EntriesOptions<Encoding, Encoding>,
): ScanRequest {
  const { reverse = false, limit = Infinity } = options;
  const fits = limit === Infinity || (Number.isSafeInteger(limit) && limit >= 0);
  return {
    keyspace,
    snapshot,
    range: packRange(options),
    reverse: checkSwitch("reverse", reverse),
    limit: check("limit", limit, fits, "a whole number from 0"),
  };
}

/** Refuses, with the reason, where no store can lie on the private file system. */
export function checkPrivateFiles(): void {
  if (typeof isSecureContext === "undefined") throw unavailable("this is no page of a browser");
  if (!isSecureContext) throw unavailable("the page was not loaded over HTTPS");
  if (typeof navigator.storage?.getDirectory !== "function") {
    throw unavailable("the browser has no origin private file system");
  }
  if (navigator.locks === undefined) throw unavailable("the browser has no Web Locks");
}

/** The error where no store can be. */
export function unavailable(why: string): UnavailableError {
  return new UnavailableError(`no store can be opened here: ${why}`);
}

/** The module, or its address in full. */
function toModule(wasm: StoreOptions["wasm"]): string | WebAssembly.Module | undefined {
  if (wasm === undefined || isTagged<WebAssembly.Module>(wasm, "WebAssembly.Module")) return wasm;
  try {
    if (typeof wasm === "string" || isTagged(wasm, "URL")) {
      return new URL(wasm, globalThis.location?.href).href;
    }
  } catch {
    // Refused below.
  }
  throw refused("wasm", "an address or a WebAssembly.Module", wasm);
}

function checkName(what: string, name: string, pattern: RegExp, expected: string): string {
  return check(what, name, typeof name === "string" && pattern.test(name), expected);
}

function checkSwitch(what: string, value: boolean): boolean {
  return check(what, value, typeof value === "boolean", "true or false");
}

function checkTime(what: string, time: number): number {
  const fits = typeof time === "number" && time >= 0 && time <= LONGEST_TIME;
  return check(what, time, fits, `0 to ${LONGEST_TIME} milliseconds`);
}

function checkBytes(what: string, bytes: number | undefined, least: number): number | undefined {
  const fits = Number.isSafeInteger(bytes) && bytes! >= least && bytes! <= MOST_BYTES;
  return check(what, bytes, bytes === undefined || fits, `${least} to ${MOST_BYTES} bytes`);
}
