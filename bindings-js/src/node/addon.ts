/** The addon: finding it, and its interface. */

import { createRequire } from "node:module";
import type { Scan, Steps } from "../../wasm/terrane.js";
import { UnavailableError } from "../api/errors.ts";
import { RELEASE } from "./release.ts";

/** The options of an opening. */
export interface AddonOptions {
  /** Path of the store; none for a store in memory. */
  path: string | undefined;
  oneFile: boolean;
  readOnly: boolean;
  create: boolean;
  errorIfExists: boolean;
  syncInterval: number;
  memtableBytes: number | undefined;
  cacheBytes: number | undefined;
  filterThousandths: number | undefined;
  feedBytes: number | undefined;
  policy: string | undefined;
}

/** An opening of a store; methods that a browser's store has as well are declared there. */
export interface AddonStore {
  /** Looks up the key in the first bytes of `memory`; returns its value's length, or -1 if there is none. */
  get(keyspace: number, snapshot: number, memory: Uint8Array, length: number): number;
  /** Looks up a key as `get` does, or returns -2 if a file has to be read for it. */
  try_get(keyspace: number, snapshot: number, memory: Uint8Array, length: number): number;
  /** Writes a batch if that waits for nothing; returns its sequence number if it is written. */
  try_write(batch: Uint8Array): number | null;
  /** Writes a value that found no room into `memory`. */
  take(memory: Uint8Array): void;
  /** Starts to copy the store to a path. */
  checkpoint(path: string, oneFile: boolean): Steps;
  // In Node's pool of threads, on the default keyspace:
  get_many_apart(snapshot: number, keys: Uint8Array): Promise<Uint8Array>;
  has_many_apart(snapshot: number, keys: Uint8Array): Promise<Uint8Array>;
  write_apart(batch: Uint8Array, sync: boolean): Promise<number>;
  clear_apart(range: Uint8Array, reverse: boolean, limit: number, sync: boolean): Promise<unknown>;
  compact_range_apart(range: Uint8Array): Promise<unknown>;
  close_apart(): Promise<unknown>;
}

/** A scan; methods that a browser's scan has as well are declared there. */
export interface AddonScan {
  /** Returns rows as far as no file has to be read, or null if one has to be for the first. */
  try_rows(
    seek: Uint8Array | undefined,
    count: number,
    bytes: number,
    back: boolean,
    keys: boolean,
    values: boolean,
  ): Uint8Array | null;
  /** Reads rows in Node's pool of threads; nothing else may be asked of the scan meanwhile. */
  rows_apart(
    seek: Uint8Array | undefined,
    count: number,
    bytes: number,
    back: boolean,
    keys: boolean,
    values: boolean,
  ): Promise<Uint8Array>;
}

/** The exports of the addon. */
export interface Addon {
  version(): string;
  Store: { open(options: AddonOptions): Promise<AddonStore> };
  Scan: new () => Scan;
  Steps: new () => Steps;
  /** Starts to copy the store in a file to a path. */
  import_file(source: string, target: string, oneFile: boolean): Steps;
  /** Deletes the store at a path. */
  destroy(path: string): Promise<unknown>;
}

const NAME = "terrane-node";

const require = createRequire(import.meta.url);

/** Loads the addon of this platform. */
export function loadAddon(): Addon {
  const platform = platformName();
  let addon: Addon;
  try {
    addon = require(findAddon(platform)) as Addon;
  } catch (cause) {
    const remedy = `install the package ${NAME}-${platform}, or run cargo xtask node in a clone`;
    const message = `${NAME} found no addon for ${platform}; ${remedy}: ${cause}`;
    throw new UnavailableError(message, { cause });
  }
  const found = addon.version();
  if (found === RELEASE) return addon;
  const message = `${NAME} ${RELEASE}: expected the addon of ${RELEASE}, found that of ${found}`;
  throw new UnavailableError(message);
}

/** Returns the file of the addon: one that was built here, or that of the platform's package. */
function findAddon(platform: string): string {
  try {
    return require.resolve("./terrane.node");
  } catch {
    return `${NAME}-${platform}`;
  }
}

/** Returns the platform as the names of packages have it. */
function platformName(): string {
  const { arch, platform } = process;
  return `${platform}-${arch}${platform === "linux" && isMusl() ? "-musl" : ""}`;
}

function isMusl(): boolean {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  // It would look up the names of hosts.
  report.excludeNetwork = true;
  const { header } = report.getReport() as unknown as {
    header: { glibcVersionRuntime?: string };
  };
  return header.glibcVersionRuntime === undefined;
}
