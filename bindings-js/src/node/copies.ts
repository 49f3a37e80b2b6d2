/**
 * Copies of whole stores: to another path, to a file, and from a file. A file is a volume, which a page imports
 * as well. Until it is complete, it lies beside the store.
 */

import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Steps } from "../../wasm/terrane.js";
import { AbortError, IoError, NotFoundError } from "../api/errors.ts";
import type { Exported, OpenRequest, StoreRequest } from "../codec/protocol.ts";
import { noStoreIn, taken } from "../codec/new-store.ts";
import type { Engine } from "../engine/engine.ts";
import { runSteps, StartedTask, type StepRunner } from "../engine/tasks.ts";
import type { AddonStore } from "./addon.ts";
import { whileBusy } from "./busy.ts";
import { Module } from "./module.ts";
import type { NodeRequest } from "./options.ts";

/** Starts to copy a store to another path, where there must be none, in the form that it has. */
export async function checkpoint(
  engine: Engine,
  { name }: StoreRequest,
): Promise<StartedTask<void>> {
  const oneFile = engine.files?.layout === "file";
  return new StartedTask(copyTo(name, oneFile, startOf(engine), engine, engine.module));
}

/** Starts to export a store into a file, which exists until `endExport`. */
export async function exportFile(engine: Engine): Promise<StartedTask<Exported>> {
  const file = `${engine.files?.path ?? join(tmpdir(), "terrane")}.export-${randomUUID()}`;
  const end = copyTo(file, true, startOf(engine), engine, engine.module);
  // The blob of a file cannot be sent to another thread: whoever gets the name opens the file.
  return new StartedTask(end.then(() => ({ blob: new Blob(), file })));
}

/** Starts to copy a store to a path. */
type StartCopy = (path: string, oneFile: boolean) => Steps;

const startOf =
  (engine: Engine): StartCopy =>
  (path, oneFile) =>
    engine.call((store) => (store as unknown as AddonStore).checkpoint(path, oneFile));

/**
 * Copies a store to a path, where there must be nothing. A file is locked while it is written. A directory is written
 * under a name of its own and renamed when it is complete, so that nobody finds a part of it. If a copy fails, only
 * what it has made is removed.
 */
async function copyTo(
  path: string,
  oneFile: boolean,
  start: StartCopy,
  runner: StepRunner,
  module: Module,
): Promise<void> {
  if (oneFile) {
    // An empty file may be there.
    const isNew = !existsSync(path);
    const steps = start(path, true);
    const run = () => copied(runner, module, steps);
    return isNew ? orRemoved(path, run) : run();
  }
  checkFree(path);
  // An empty directory may be a link to it, which a rename would not follow.
  const target = existsSync(path) ? realpathSync(path) : path;
  const unfinished = `${target}.unfinished-${randomUUID()}`;
  await orRemoved(unfinished, async () => {
    // If it does not start, it may have made the directory.
    await copied(runner, module, start(unfinished, false));
    rename(unfinished, target);
  });
  syncFolder(dirname(target));
}

/** Renames a directory to a path, where there must be nothing, or an empty directory. */
function rename(from: string, path: string): void {
  try {
    // Windows replaces no directory by another.
    if (process.platform === "win32" && existsSync(path)) rmdirSync(path);
    renameSync(from, path);
  } catch (cause) {
    checkFree(path);
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "EBUSY" ? "it may be a mount point: name a directory in it" : message;
    throw new IoError(`could not put the copy in the place of ${path}: ${why}`, { cause });
  }
}

/** Throws unless there is nothing at a path, or an empty directory. */
function checkFree(path: string): void {
  const isFree = !existsSync(path) || (statSync(path).isDirectory() && !readdirSync(path).length);
  if (!isFree) throw taken(path);
}

/** Makes the names in a directory durable. */
function syncFolder(path: string): void {
  // Windows opens no directory, and needs no sync of one.
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Runs the steps of a copy, and releases them. */
async function copied(runner: StepRunner, module: Module, steps: Steps): Promise<void> {
  try {
    await runSteps(runner, steps);
  } finally {
    module.release(steps);
  }
}

/** Runs `body`, which makes what is at a path; if it fails, that is removed. */
async function orRemoved(path: string, body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    remove(path);
    throw error;
  }
}

/** Removes what is at a path, if it can be. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true, recursive: true });
  } catch {
    // The failure before says more.
  }
}

/** Deletes an exported file. */
export async function endExport(_engine: Engine, file: string): Promise<void> {
  await unlink(file);
}

/** Deletes the store at a path, if there is one; it must not be open anywhere. */
export async function destroyFiles({ name, timeout }: StoreRequest): Promise<void> {
  const module = await Module.load();
  await whileBusy(() => module.later(() => module.addon.destroy(name)), timeout);
}

/** The import of a store from the bytes of a file. */
export class Import implements StepRunner {
  /** None: a thread's end is seen without a lock. */
  readonly holderLock: string | undefined;
  readonly #module: Module;
  readonly #request: NodeRequest;
  readonly #path: string;
  readonly #file: number;
  #length = 0;
  #complete = true;
  #ending: Promise<void> | undefined;

  private constructor(module: Module, request: NodeRequest) {
    this.#module = module;
    this.#request = request;
    this.#path = `${request.name}.import-${randomUUID()}`;
    // As for a store that is opened, the folders that it needs are made.
    mkdirSync(dirname(this.#path), { recursive: true });
    this.#file = openSync(this.#path, "wx");
  }

  /** Starts an import to a path, where there must be nothing. */
  static async start(request: OpenRequest, signal?: AbortSignal): Promise<Import> {
    const module = await Module.load();
    signal?.throwIfAborted();
    if (existsSync(request.name)) throw taken(request.name);
    return new Import(module, request as NodeRequest);
  }

  /** Writes the next bytes of the file. */
  write(bytes: Uint8Array): void {
    // A view of a class of its own may lie about its length.
    const plain = new Uint8Array(bytes);
    for (let at = 0; at < plain.length;) at += writeSync(this.#file, plain, at);
    this.#length += plain.length;
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
    closeSync(this.#file);
    try {
      if (!this.#complete) return;
      const { name, layout } = this.#request;
      const start: StartCopy = (path, oneFile) => this.#importFile(path, oneFile);
      await copyTo(name, layout === "file", start, this, this.#module);
    } finally {
      rmSync(this.#path, { force: true });
    }
  }

  #importFile(path: string, oneFile: boolean): Steps {
    const { addon } = this.#module;
    try {
      return this.#module.call(() => addon.import_file(this.#path, path, oneFile));
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
    return new Promise((resolve) => setImmediate(resolve));
  }
}
