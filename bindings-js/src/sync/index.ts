/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Stores for a worker of your own: the engine runs in the calling worker, and every call that does not
 * wait for files is synchronous. There are no messages, and few copies.
 */

import type { Encoding } from "../api/data.ts";
import type { StoreOptions } from "../api/options.ts";
import { toError, wrapErrors } from "../codec/thrown.ts";
import { checked, STORE, TIMEOUT, WAIT, WASM } from "../codec/options.ts";
import { toDefaults, toRequest } from "../codec/requests.ts";
import { toModule } from "../codec/wasm-module.ts";
import { toStoreRequest } from "#store-request";
import { Import } from "../engine/backup.ts";
import { destroyFiles } from "../engine/destroy.ts";
import { Engine } from "../engine/engine.ts";
import { abortable } from "../shared/abort.ts";
import { checkPrivateFiles, unavailable } from "../shared/environment.ts";
import { checkNotOpen } from "../shared/open-here.ts";
import { pipeImport } from "../shared/streams.ts";
import { Db } from "./db.ts";
import { EnginePort } from "./port.ts";

export * from "../api/index.ts";
export { exists, stores } from "../shared/stores.ts";
export type { Db, Keyspace, Reader, Snapshot, Transaction } from "./db.ts";

/** Opens the store of that name in this worker, which holds it until it is closed. */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  name: string,
  options: StoreOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toRequest(name, checked(options, STORE));
  request.wasm = toModule(options.wasm);
  const defaults = toDefaults(options);
  if (request.storage === "opfs") checkWorker();
  const { signal } = options;
  const opening = wrapErrors(() => Engine.open(request));
  try {
    const engine = await abortable(signal, () => opening);
    return new Db(name, new EnginePort(name, engine), defaults);
  } catch (error) {
    // Nobody waits for it: if it still opens, it is closed again.
    if (signal?.aborted) void opening.then((engine) => engine.close(toError(error)));
    throw error;
  }
}

/**
 * Creates the store of that name, which must not exist yet, from a file that `export` or a native
 * program wrote. If that fails, nothing is left of it.
 */
export async function importStore(
  name: string,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<StoreOptions, "signal" | "timeout" | "wasm"> = {},
): Promise<void> {
  const request = toRequest(name, checked(options, TIMEOUT, WASM, WAIT));
  request.wasm = toModule(options.wasm);
  checkWorker();
  checkNotOpen(request.name);
  await wrapErrors(async () =>
    pipeImport(source, await Import.start(request, options.signal), options.signal),
  );
}

/** Deletes the store of that name, if it exists. It must not be open anywhere. */
export async function destroy(
  name: string,
  options: { timeout?: number | undefined } = {},
): Promise<void> {
  const request = toStoreRequest(name, checked(options, TIMEOUT).timeout);
  checkPrivateFiles();
  checkNotOpen(request.name);
  await wrapErrors(() => destroyFiles(request));
}

function checkWorker(): void {
  checkPrivateFiles();
  if (!("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    // A browser without synchronous files has them nowhere; others have them in dedicated workers.
    const isDedicated = "DedicatedWorkerGlobalScope" in globalThis;
    const why = isDedicated
      ? "the browser has no synchronous files"
      : "this is no dedicated worker";
    throw unavailable(why);
  }
}
