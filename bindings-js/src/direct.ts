/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Stores for a worker that has them for itself: the engine runs in the caller's own worker, and
 * every call but those that wait for files is synchronous. No messages, and few copies.
 */

import { abortable } from "./abort.ts";
import { Import } from "./copies.ts";
import { destroyFiles } from "./destroy.ts";
import { Db } from "./direct/db.ts";
import { Engine } from "./engine.ts";
import { send } from "./files.ts";
import {
  checkPrivateFiles,
  type StoreOptions,
  toDefaults,
  toRequest,
  toStoreRequest,
  unavailable,
} from "./options.ts";
import type { Encoding } from "./packing.ts";
import { toError, wrapErrors } from "./wire.ts";

export type { WaitOptions } from "./abort.ts";
export type { BatchOperation } from "./batch.ts";
export { Db } from "./direct/db.ts";
export { Keyspace } from "./direct/keyspace.ts";
export { Reader } from "./direct/reader.ts";
export { Snapshot } from "./direct/snapshot.ts";
export * from "./errors.ts";
export type { Event, Observed } from "./events.ts";
export type {
  Durability,
  EntriesOptions,
  KeyspaceOptions,
  ReadOptions,
  StoreOptions,
  WriteOptions,
} from "./options.ts";
export type { Bytes, Decoded, Encoding, RangeOptions } from "./packing.ts";
export { MAX_KEY_BYTES, MAX_VALUE_BYTES } from "./packing.ts";
export type { Entry } from "./parts.ts";
export type * from "./policies.ts";
export type * from "./stats.ts";
export type * from "./trace.ts";

/** Opens the store of that name in this worker, which alone has it until it closes it. */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: StoreOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, options);
  const defaults = toDefaults(options);
  if (request.storage === "opfs") checkWorker();
  const { signal } = options;
  const opening = wrapErrors(() => Engine.open(request));
  try {
    return new Db(name, await abortable(signal, () => opening), defaults);
  } catch (error) {
    // One that opens although nobody waits any more is closed again.
    if (signal?.aborted) void opening.then((engine) => engine.close(toError(error)));
    throw error;
  }
}

/**
 * Makes the store of that name, which must not be there yet, of a file that `export` or a native
 * program wrote. If it fails, nothing is left of it.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<StoreOptions, "signal" | "timeout" | "wasm"> = {},
): Promise<void> {
  const request = toRequest(name, options);
  checkWorker();
  await wrapErrors(async () => send(source, await Import.begin(request), options.signal));
}

/** Deletes the store of that name, if there is one. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: { timeout?: number | undefined } = {},
): Promise<void> {
  const request = toStoreRequest(name, options.timeout);
  checkPrivateFiles();
  await wrapErrors(() => destroyFiles(request));
}

function checkWorker(): void {
  checkPrivateFiles();
  if (!("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    throw unavailable("this is no dedicated worker");
  }
}
