/**
 * Copies of whole stores: to another path, to a file, and from a file. A file is a volume, which a page imports
 * as well. Until it is complete, it lies beside the store.
 */

import { randomUUID } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Steps } from "../../wasm/terrane.js";
import { AbortError, NotFoundError } from "../api/errors.ts";
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
  return copyTo(engine, name, engine.files?.layout === "file");
}

/** Starts to export a store into a file, which exists until `endExport`. */
export async function exportFile(engine: Engine): Promise<StartedTask<Exported>> {
  const file = `${engine.files?.path ?? join(tmpdir(), "terrane")}.export-${randomUUID()}`;
  const { end } = copyTo(engine, file, true);
  // The blob of a file cannot be sent to another thread: whoever gets the name opens the file.
  return new StartedTask(end.then(() => ({ blob: new Blob(), file })));
}

function copyTo(engine: Engine, path: string, oneFile: boolean): StartedTask<void> {
  const existed = existsSync(path);
  const steps = engine.call((store) => (store as unknown as AddonStore).checkpoint(path, oneFile));
  return new StartedTask(
    copied(engine, engine.module, steps, () => {
      if (!existed) rmSync(path, { force: true, recursive: true });
    }),
  );
}

/** Runs the steps of a copy; cleans up with `undo` if it fails. */
async function copied(
  runner: StepRunner,
  module: Module,
  steps: Steps,
  undo: () => void,
): Promise<void> {
  try {
    await runSteps(runner, steps);
  } catch (error) {
    undo();
    throw error;
  } finally {
    module.release(steps);
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
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file, bytes, at);
    this.#length += bytes.length;
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
      const { name } = this.#request;
      await copied(this, this.#module, this.#importFile(), () =>
        rmSync(name, { force: true, recursive: true }),
      );
    } finally {
      rmSync(this.#path, { force: true });
    }
  }

  #importFile(): Steps {
    const { addon } = this.#module;
    const { name, layout } = this.#request;
    try {
      return this.#module.call(() => addon.import_file(this.#path, name, layout === "file"));
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
