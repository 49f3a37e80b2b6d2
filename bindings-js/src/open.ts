/** Opening and destroying stores by name. */

import { Connection } from "./connection.ts";
import { checkDurability, Db, type Durability } from "./db.ts";
import { fromWire, InvalidArgumentError, toWire, UnavailableError } from "./errors.ts";
import { describe, type Encoding } from "./packing.ts";
import { hold, removeDirectory } from "./place.ts";

/** Options of the engine; each has a default that fits a browser. */
export interface EngineOptions {
  /** Bytes of writes that are gathered in memory before they become a table. Default: 4 MiB. */
  memtableBytes?: number;
  /** Bytes of blocks that are kept in memory for reads. Default: 8 MiB. */
  cacheBytes?: number;
}

/** Options of a store. */
export interface OpenOptions<
  K extends Encoding = "utf8",
  V extends Encoding = "utf8",
> extends EngineOptions {
  /** Whether to create the store if there is none. Default: true. */
  createIfMissing?: boolean;
  /** How keys come back. Default: "utf8". */
  keyEncoding?: K;
  /** How values come back. Default: "utf8". */
  valueEncoding?: V;
  /** When a write counts as done, unless it says so itself. Default: "buffered". */
  durability?: Durability;
  /** The longest that a buffered write waits for its sync, in milliseconds. Default: 1000. */
  syncInterval?: number;
  /**
   * How long to wait while another tab, or a page that is just going away, holds the store, in
   * milliseconds. Default: 5000.
   */
  timeout?: number;
  /** Starts the worker, where a bundler or a content policy needs it done otherwise. */
  worker?: () => Worker;
  /** Where the WebAssembly module lies, if not beside the worker's script. */
  wasmUrl?: string | URL;
}

const DEFAULT_TIMEOUT = 5000;
/** The longest time that a timer takes. */
const LONGEST_TIME = 2 ** 31 - 1;
const LEAST_MEMTABLE_BYTES = 64 << 10;
/** The most that an option may take of the module's 4 GiB. */
const MOST_BYTES = 1 << 30;

/** Names this page among those that may hold a store. */
const client: string = globalThis.crypto?.randomUUID?.() ?? "";

/**
 * Opens the store of that name on this origin's private file system. One page at a time holds a
 * store; a second is refused with a `BusyError` that says who has it.
 */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: OpenOptions<K, V> = {},
): Promise<Db<K, V>> {
  checkName(name);
  checkBrowser();
  const { durability = "buffered", worker = startWorker } = options;
  const {
    createIfMissing = true,
    syncInterval = 1000,
    timeout = DEFAULT_TIMEOUT,
    wasmUrl,
  } = options;
  const { memtableBytes, cacheBytes } = options;
  checkDurability(durability);
  const keyEncoding = checkEncoding("keyEncoding", options.keyEncoding ?? ("utf8" as K));
  const valueEncoding = checkEncoding("valueEncoding", options.valueEncoding ?? ("utf8" as V));
  const connection = await Connection.open(worker, {
    name,
    client,
    page: page(),
    createIfMissing,
    syncInterval: checkTime("syncInterval", syncInterval),
    timeout: checkTime("timeout", timeout),
    wasmUrl: wasmUrl === undefined ? undefined : new URL(wasmUrl, location.href).href,
    engine: JSON.stringify({
      memtableBytes: checkBytes("memtableBytes", memtableBytes, LEAST_MEMTABLE_BYTES),
      cacheBytes: checkBytes("cacheBytes", cacheBytes, 0),
    }),
  });
  return new Db(name, connection, { durability, keyEncoding, valueEncoding });
}

/** Deletes the store of that name, if there is one. It must not be open anywhere. */
export async function destroy(name: string, options: { timeout?: number } = {}): Promise<void> {
  checkName(name);
  checkBrowser();
  const timeout = checkTime("timeout", options.timeout ?? DEFAULT_TIMEOUT);
  const since = new Date().toISOString();
  const { release } = await hold({ name, client, page: page(), since }, timeout);
  try {
    await removeDirectory(name, timeout);
  } catch (error) {
    throw fromWire(toWire(error));
  } finally {
    release();
  }
}

/** Bundlers look for exactly this expression. */
function startWorker(): Worker {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}

/** The page's address, without what may be private in it. */
function page(): string {
  return location.origin + location.pathname;
}

/** A name becomes a directory's name. */
function checkName(name: string): void {
  const fits = typeof name === "string" && /^[^/\\\0]{1,100}$/u.test(name);
  if (!fits || name === "." || name === "..") {
    const found = typeof name === "string" ? JSON.stringify(name) : describe(name);
    throw new InvalidArgumentError(
      `name: expected 1 to 100 characters without slashes, found ${found}`,
    );
  }
}

function checkEncoding<E extends Encoding>(what: string, encoding: E): E {
  if (encoding !== "utf8" && encoding !== "binary") {
    const found = JSON.stringify(encoding);
    throw new InvalidArgumentError(`${what}: expected "utf8" or "binary", found ${found}`);
  }
  return encoding;
}

function checkTime(what: string, milliseconds: number): number {
  if (!(milliseconds >= 0 && milliseconds <= LONGEST_TIME)) {
    throw new InvalidArgumentError(
      `${what}: expected 0 to ${LONGEST_TIME} milliseconds, found ${milliseconds}`,
    );
  }
  return milliseconds;
}

function checkBytes(what: string, bytes: number | undefined, least: number): number | undefined {
  if (bytes === undefined) return undefined;
  if (!(Number.isSafeInteger(bytes) && bytes >= least && bytes <= MOST_BYTES)) {
    throw new InvalidArgumentError(
      `${what}: expected ${least} to ${MOST_BYTES} bytes, found ${bytes}`,
    );
  }
  return bytes;
}

/** Refuses, with the reason, where a store cannot be. */
function checkBrowser(): void {
  const missing = (why: string) => new UnavailableError(`no store can be opened here: ${why}`);
  if (typeof document === "undefined") throw missing("this is no page of a browser");
  if (!isSecureContext) throw missing("the page was not loaded over HTTPS");
  if (typeof navigator.storage?.getDirectory !== "function") {
    throw missing("the browser has no origin private file system");
  }
  if (navigator.locks === undefined) throw missing("the browser has no Web Locks");
}
