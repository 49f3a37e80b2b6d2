/**
 * The engine in a browser: the WebAssembly module, and files of the origin private file system. The build for Node has
 * the addon and its files instead, in the file of this name in `src/node`.
 */

import type { Store } from "../../wasm/terrane.js";
import type { OpenRequest } from "../codec/protocol.ts";
import { Module } from "./module.ts";
import { type FileUser, OpfsFiles } from "./opfs-files.ts";

export { checkpoint, endExport, exportFile, Import } from "./backup.ts";
export { destroyFiles } from "./destroy.ts";
export { Gets } from "./gets.ts";
export { Lookups } from "./lookups.ts";
export { holdLifeLock } from "./locks.ts";
export { Module } from "./module.ts";
export type { OpfsFiles as Files } from "./opfs-files.ts";

/** Whether the engine runs background jobs and syncs by itself. */
export const IN_BACKGROUND = false;

/** A store that the engine has opened. */
export interface OpenedStore {
  module: Module;
  store: Store;
  /** Undefined for a store in memory. */
  files: OpfsFiles | undefined;
}

/** Acquires the files and opens the store; if that fails, releases everything, and leaves no empty files. */
export async function openStore(
  request: OpenRequest,
  loading: Promise<Module>,
): Promise<OpenedStore> {
  // It is awaited below, which throws its error.
  loading.catch(() => undefined);
  const persistent = request.storage === "opfs";
  const files = persistent ? await OpfsFiles.acquire(request, request.create) : undefined;
  const opened: FileUser[] = [];
  try {
    const [module] = await Promise.all([loading, files?.removeLeftovers("import")]);
    const { create, errorIfExists, keepPolicy, policy } = request;
    const { memtableBytes, cacheBytes, filterBits, feedBytes } = request;
    const handles = files?.handles ?? [];
    const { Store } = module.glue;
    const store = module.call(() =>
      Store.open(
        JSON.stringify(request.name),
        handles,
        create,
        errorIfExists,
        keepPolicy,
        memtableBytes,
        cacheBytes,
        filterBits === undefined ? undefined : Math.round(filterBits * 1000),
        feedBytes,
        policy,
      ),
    );
    opened.push({ free: () => module.release(store) });
    // Not before: the file of an import means that there is no store yet.
    await files?.removeLeftovers();
    return { module, store, files };
  } catch (error) {
    await files?.discard(request, ...opened);
    throw error;
  }
}
