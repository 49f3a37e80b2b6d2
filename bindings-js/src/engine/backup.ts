/**
 * Copies of whole stores: to another name on the origin, to a file, and from a file. A file is a volume
 * with a single backing file, which native programs can open. Until it is complete it is kept beside
 * the store's own files; opening the store removes the leftovers of interrupted copies.
 */

import type { Steps } from "../../wasm/terrane.js";
import { AbortError, IoError, NotFoundError } from "../api/errors.ts";
import { LeftOutError, toError } from "../codec/thrown.ts";
import type { Exported, OpenRequest, StoreRequest } from "../codec/protocol.ts";
import { noStoreIn, taken } from "../codec/new-store.ts";
import { openFile, removeDirectory, retryWhileBusy } from "./directory.ts";
import type { Engine } from "./engine.ts";
import { Module } from "./module.ts";
import { type FileUser, OpfsFiles } from "./opfs-files.ts";
import { runSteps, StartedTask, type StepRunner } from "./tasks.ts";

/** Numbers this worker's export files. */
let nextFile = 1;

/**
 * Starts to copy a store to another name on this origin, which no store may have. While another page
 * holds that name, the start is delayed, and the copy includes the writes until then.
 */
export async function checkpoint(engine: Engine, target: StoreRequest): Promise<StartedTask<void>> {
  try {
    return copyTo(engine, target, await OpfsFiles.acquire({ ...target, timeout: 0 }, true));
  } catch (error) {
    if (target.timeout === 0 || toError(error).code !== "busy") throw error;
    const later = OpfsFiles.acquire(target, true, engine.aborted);
    return new StartedTask(later.then((files) => copyTo(engine, target, files).end));
  }
}

function copyTo(engine: Engine, target: StoreRequest, files: OpfsFiles): StartedTask<void> {
  const isNew = files.isEmpty;
  return startCopy(engine, target.name, files.handles, async (copied, user) => {
    await files.release(user);
    if (!copied && isNew) await removeDirectory(target).catch(toError);
  });
}

/** Starts to export a store into a file; a store in memory, into memory. */
export async function exportFile(engine: Engine): Promise<StartedTask<Exported>> {
  const { files } = engine;
  if (files === undefined) {
    const steps = engine.call((store) => store.bytes());
    const bytes = runSteps(engine, steps).finally(() => engine.module.release(steps));
    const toBlob = (bytes: unknown) => new Blob([bytes as Uint8Array<ArrayBuffer>]);
    return new StartedTask(bytes.then((bytes) => ({ blob: toBlob(bytes), file: undefined })));
  }
  const file = `export-${nextFile++}`;
  const handle = await files.directory.getFileHandle(file, { create: true });
  const access = await openFile(handle);
  const { end } = startCopy(engine, file, [access], async (copied, user) => {
    await files.free(user, { free: () => access.close() });
    if (!copied) await files.directory.removeEntry(file).catch(toError);
  });
  return new StartedTask(end.then(async () => ({ blob: await handle.getFile(), file })));
}

/**
 * Starts to copy the store as it is now. `finish` is called at the end, with whether the copy is
 * complete, and with what has the files open.
 */
function startCopy(
  engine: Engine,
  name: string,
  handles: FileSystemSyncAccessHandle[],
  finish: (copied: boolean, user: FileUser) => Promise<void>,
): StartedTask<void> {
  const copy = async () => {
    let copied = false;
    let steps: Steps | undefined;
    try {
      steps = engine.call((store) => store.checkpoint(JSON.stringify(name), handles));
      await runSteps(engine, steps);
      copied = true;
    } finally {
      await finish(copied, { free: () => engine.module.release(steps) });
    }
  };
  return new StartedTask(copy());
}

/** Deletes an exported file. */
export async function endExport(engine: Engine, file: string): Promise<void> {
  await engine.files?.directory.removeEntry(file);
}

/** The import of a store from the bytes of a file. */
export class Import implements StepRunner {
  readonly #request: OpenRequest;
  #module: Module;
  readonly #files: OpfsFiles;
  #file: FileSystemSyncAccessHandle;
  #length = 0;
  #complete = true;
  #ending: Promise<void> | undefined;

  private constructor(
    request: OpenRequest,
    module: Module,
    files: OpfsFiles,
    file: FileSystemSyncAccessHandle,
  ) {
    this.#request = request;
    this.#module = module;
    this.#files = files;
    this.#file = file;
  }

  /** The lock that this worker holds. */
  get holderLock(): string {
    return this.#files.holderLock;
  }

  /** Acquires the files, in which there must be no store, unless the signal is aborted first. */
  static async start(request: OpenRequest, signal?: AbortSignal): Promise<Import> {
    // Only the whole file shows whether a policy needs the other build.
    const loading = Module.load("lean", request.wasm, undefined);
    const [module, files] = await Promise.all([loading, OpfsFiles.acquire(request, true, signal)]);
    try {
      const { directory, handles } = files;
      // While this file exists, there is no store: an interrupted import left it.
      const leftover = await directory.getFileHandle("import").catch(() => undefined);
      if (!leftover && !files.isEmpty) throw taken(request.name);
      const handle = await directory.getFileHandle("import", { create: true });
      const access = await retryWhileBusy(() => openFile(handle), request.timeout);
      for (const file of [access, ...handles]) file.truncate(0);
      return new Import(request, module, files, access);
    } catch (error) {
      await files.release();
      throw error;
    }
  }

  /** Writes the next bytes of the file. */
  write(bytes: Uint8Array): void {
    const written = this.#file.write(bytes as Uint8Array<ArrayBuffer>, { at: this.#length });
    if (written !== bytes.length) {
      throw new IoError(`short write of import: expected ${bytes.length} bytes, moved ${written}`);
    }
    this.#length += written;
  }

  /**
   * Turns the file into a store if it is complete; otherwise, or if that fails, leaves nothing behind. A
   * second call can cancel the import while the store is being made.
   */
  end(complete: boolean): Promise<void> {
    this.#complete &&= complete;
    return (this.#ending ??= this.#end());
  }

  async #end(): Promise<void> {
    let made = false;
    let steps: Steps | undefined;
    try {
      if (this.#complete) {
        steps = await this.#copy();
        await runSteps(this, steps);
        made = true;
      }
    } finally {
      await this.#files.free(
        { free: () => this.#module.release(steps) },
        { free: () => this.#file.close() },
      );
      const cleaned = made ? this.#files.removeLeftovers() : Promise.resolve();
      await cleaned.finally(() => this.#files.release());
      if (!made) await removeDirectory(this.#request).catch(toError);
    }
  }

  /** Starts to copy the store in the file, with a build that has its policies. */
  async #copy(): Promise<Steps> {
    try {
      return this.#importFile();
    } catch (error) {
      const { timeout, wasm } = this.#request;
      if (!(error instanceof LeftOutError) || wasm !== undefined) throw error;
      this.#module = await Module.load("all", wasm, error.what);
      // The lean build closed it when it failed.
      const handle = await this.#files.directory.getFileHandle("import");
      this.#file = await retryWhileBusy(() => openFile(handle), timeout);
      return this.#importFile();
    }
  }

  #importFile(): Steps {
    const { glue } = this.#module;
    const name = JSON.stringify(this.#request.name);
    try {
      return this.#module.call(() => glue.import_file(name, this.#file, this.#files.handles));
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw noStoreIn(this.#length);
    }
  }

  step<T>(body: () => T): T {
    if (!this.#complete) throw new AbortError("the import was aborted");
    return this.#module.call(body);
  }

  turn(): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    return new Promise((resolve) => {
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(undefined);
    });
  }
}
