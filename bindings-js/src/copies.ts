/**
 * Whole stores on their way: to another place on the origin, out as a file, and in again. A file is
 * a volume of one backing file, as native programs open it. On its way it lies beside the store's
 * own files; what is cut short is swept away when the store is opened next.
 */

import { import_file, type Steps } from "../wasm/terrane.js";
import { refused } from "./argument.ts";
import { removeDirectory, retryWhileHeld } from "./directory.ts";
import { type Engine, guard, load, release } from "./engine.ts";
import { AbortError, IoError } from "./errors.ts";
import { type Holder, Place } from "./place.ts";
import type { Exported, OpenRequest, StoreRequest } from "./protocol.ts";
import { Task, type Walker, walk } from "./steps.ts";
import { toError } from "./wire.ts";

/** Names the files of this worker. */
let nextFile = 1;

/**
 * Begins to copy a store to another place on this origin, which must hold none. Where that is held by
 * another, the copy begins when it is free, and shows that moment.
 */
export async function checkpoint(engine: Engine, target: StoreRequest): Promise<Task<void>> {
  try {
    return copyTo(engine, target, await Place.take({ ...target, timeout: 0 }, true));
  } catch (error) {
    if (target.timeout === 0 || toError(error).code !== "busy") throw error;
    const later = Place.take(target, true, engine.calledOff);
    return new Task(later.then((place) => copyTo(engine, target, place).end));
  }
}

function copyTo(engine: Engine, target: StoreRequest, place: Place): Task<void> {
  const isNew = place.isEmpty;
  return begin(engine, place.handles, async (copied, holder) => {
    await place.release(holder);
    if (!copied && isNew) await removeDirectory(target).catch(toError);
  });
}

/** Begins to write a store into a file; one in memory into memory. */
export async function exportFile(engine: Engine): Promise<Task<Exported>> {
  const { place } = engine;
  if (place === undefined) {
    const steps = engine.call((store) => store.bytes());
    const bytes = walk(engine, steps).finally(() => release(steps));
    const toBlob = (bytes: unknown) => new Blob([bytes as Uint8Array<ArrayBuffer>]);
    return new Task(bytes.then((bytes) => ({ blob: toBlob(bytes), file: undefined })));
  }
  const file = `export-${nextFile++}`;
  const handle = await place.directory.getFileHandle(file, { create: true });
  const access = await handle.createSyncAccessHandle();
  const { end } = begin(engine, [access], async (copied, holder) => {
    await place.free(holder, { free: () => access.close() });
    if (!copied) await place.directory.removeEntry(file).catch(toError);
  });
  return new Task(end.then(async () => ({ blob: await handle.getFile(), file })));
}

/**
 * Copies the store, as it is now, step by step: others have their turns in between. `settle` is
 * called at the end, with whether it came to a good one, and with what has the files open.
 */
function begin(
  engine: Engine,
  handles: FileSystemSyncAccessHandle[],
  settle: (copied: boolean, holder: Holder) => Promise<void>,
): Task<void> {
  const copy = async () => {
    let copied = false;
    let steps: Steps | undefined;
    try {
      steps = engine.call((store) => store.checkpoint(handles));
      await walk(engine, steps);
      copied = true;
    } finally {
      await settle(copied, { free: () => release(steps) });
    }
  };
  return new Task(copy());
}

/** Gives back the room of a file that was exported. */
export async function endExport(engine: Engine, file: string): Promise<void> {
  await engine.place?.directory.removeEntry(file);
}

/** A store that comes in as the bytes of a file. */
export class Import implements Walker {
  readonly #request: OpenRequest;
  readonly #place: Place;
  readonly #file: FileSystemSyncAccessHandle;
  #length = 0;
  #wanted = true;
  #ending: Promise<void> | undefined;

  private constructor(request: OpenRequest, place: Place, file: FileSystemSyncAccessHandle) {
    this.#request = request;
    this.#place = place;
    this.#file = file;
  }

  /** Takes the place, which must hold no store. */
  static async begin(request: OpenRequest): Promise<Import> {
    const [, place] = await Promise.all([load(request.wasm), Place.take(request, true)]);
    try {
      const { directory, handles } = place;
      // As long as the file is there, so is no store: an import that was cut short left it.
      const isLeft = await directory.getFileHandle("import").catch(() => undefined);
      if (!isLeft && !place.isEmpty) throw refused("name", "one that no store has", request.name);
      const handle = await directory.getFileHandle("import", { create: true });
      const access = await retryWhileHeld(() => handle.createSyncAccessHandle(), request.timeout);
      for (const file of [access, ...handles]) file.truncate(0);
      return new Import(request, place, access);
    } catch (error) {
      await place.release();
      throw error;
    }
  }

  /** Takes the next bytes of the file. */
  write(bytes: Uint8Array): void {
    const written = this.#file.write(bytes as Uint8Array<ArrayBuffer>, { at: this.#length });
    if (written !== bytes.length) {
      throw new IoError(`short write of import: expected ${bytes.length} bytes, moved ${written}`);
    }
    this.#length += written;
  }

  /**
   * Makes a store of the file, if it came whole; else, or if that fails, leaves nothing. It may be
   * called off while the store is made.
   */
  end(whole: boolean): Promise<void> {
    this.#wanted &&= whole;
    return (this.#ending ??= this.#end());
  }

  async #end(): Promise<void> {
    let made = false;
    let steps: Steps | undefined;
    try {
      if (this.#wanted) {
        steps = guard(() => import_file(this.#file, this.#place.handles));
        await walk(this, steps);
        made = true;
      }
    } finally {
      await this.#place.free({ free: () => release(steps) }, { free: () => this.#file.close() });
      const swept = made ? this.#place.sweep() : Promise.resolve();
      await swept.finally(() => this.#place.release());
      if (!made) await removeDirectory(this.#request).catch(toError);
    }
  }

  step<T>(body: () => T): T {
    if (!this.#wanted) throw new AbortError("the import was called off");
    return guard(body);
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
