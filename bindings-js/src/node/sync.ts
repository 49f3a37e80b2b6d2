/// <reference lib="esnext.disposable" preserve="true" />
/** Stores in the calling thread: every call that does not wait for files is synchronous. */

import { openAsBlob } from "node:fs";
import type { Encoding } from "../api/data.ts";
import { toError, wrapErrors } from "../codec/thrown.ts";
import { checked, TIMEOUT, WAIT } from "../codec/options.ts";
import { toDefaults } from "../codec/requests.ts";
import { Engine } from "../engine/engine.ts";
import { abortable, ignoreResult } from "../shared/abort.ts";
import { checkNotOpen } from "../shared/open-here.ts";
import { pipeImport } from "../shared/streams.ts";
import type { ExportedFile } from "../store/port.ts";
import { Db } from "../sync/db.ts";
import { EnginePort } from "../sync/port.ts";
import { destroyFiles, endExport, exportFile, Import } from "./copies.ts";
import { type NodeOptions, refuseBrowserOptions, toNodeRequest } from "./options.ts";
import { toStoreRequest } from "./store-request.ts";

export * from "../api/index.ts";
export type { Db, Keyspace, Reader, Snapshot, Transaction } from "../sync/db.ts";
export type { Layout, NodeOptions as StoreOptions } from "./options.ts";

/** The calls of a store in this thread, whose exported files it opens. */
class FilePort extends EnginePort {
  readonly #of: Engine;

  constructor(name: string, engine: Engine) {
    super(name, engine);
    this.#of = engine;
  }

  override async exportFile(): Promise<ExportedFile> {
    const { file } = await wrapErrors(async () => (await exportFile(this.#of)).end);
    const blob = await openAsBlob(file!);
    return { blob, end: () => ignoreResult(endExport(this.#of, file!)) };
  }
}

/** Opens the store at that path, which this process shares. */
export async function open<K extends Encoding = "utf8", V extends Encoding = "utf8">(
  path: string | URL,
  options: NodeOptions<K, V> = {},
): Promise<Db<K, V>> {
  const request = toNodeRequest(path, options);
  const defaults = toDefaults(options as object) as ReturnType<typeof toDefaults<K, V>>;
  const { signal } = options;
  const opening = wrapErrors(() => Engine.open(request));
  try {
    const engine = await abortable(signal, () => opening);
    return new Db(request.name, new FilePort(request.name, engine), defaults);
  } catch (error) {
    // Nobody waits for it: if it still opens, it is closed again.
    if (signal?.aborted) void opening.then((engine) => engine.close(toError(error)));
    throw error;
  }
}

/**
 * Creates the store at that path, where there must be nothing yet, from a file that `export`, a page or the command
 * line wrote. If that fails, nothing is left of it.
 */
export async function importStore(
  path: string | URL,
  source: ReadableStream<Uint8Array> | Blob,
  options: Pick<NodeOptions, "signal" | "timeout" | "layout"> = {},
): Promise<void> {
  refuseBrowserOptions(options);
  const { signal, timeout, layout } = checked(options, TIMEOUT, WAIT, { layout: 0 });
  const request = toNodeRequest(path, { timeout, layout });
  await wrapErrors(async () => pipeImport(source, await Import.start(request, signal), signal));
}

/** Deletes the store at that path, if there is one. It must not be open anywhere. */
export async function destroy(
  path: string | URL,
  options: { timeout?: number | undefined } = {},
): Promise<void> {
  refuseBrowserOptions(options);
  const request = toStoreRequest(path, checked(options, TIMEOUT).timeout);
  checkNotOpen(request.name);
  await wrapErrors(() => destroyFiles(request));
}
