/**
 * Whole stores on their way: to another place on the origin, out as a file, and in again. A file is
 * a volume of one backing file, as native programs open it. On its way it lies beside the store's
 * own files; what is cut short is swept away when the store is opened next.
 */

import { import_file } from "../wasm/terrane.js";
import { removeDirectory } from "./directory.ts";
import { type Engine, guard, load } from "./engine.ts";
import { InvalidArgumentError, IoError } from "./errors.ts";
import { toError } from "./wire.ts";
import { Place } from "./place.ts";
import type { Asked, Exported, OpenRequest } from "./protocol.ts";

/** Names the files of this worker. */
let nextFile = 1;

/** Copies a store to another place on this origin, which must hold none. */
export async function checkpoint(engine: Engine, target: Asked): Promise<void> {
  const place = await Place.take(target, true);
  try {
    engine.call((store) => store.checkpoint(place.handles));
  } finally {
    place.letGo();
  }
}

/** Writes a store into a file; one in memory into memory. */
export async function exportFile(engine: Engine): Promise<Exported> {
  const directory = engine.place?.directory;
  if (directory === undefined) {
    const bytes = engine.call((store) => store.bytes());
    return { blob: new Blob([bytes as Uint8Array<ArrayBuffer>]), file: undefined };
  }
  const file = `export-${nextFile++}`;
  const handle = await directory.getFileHandle(file, { create: true });
  try {
    const access = await handle.createSyncAccessHandle();
    try {
      engine.call((store) => store.checkpoint([access]));
    } finally {
      access.close();
    }
    return { blob: await handle.getFile(), file };
  } catch (error) {
    await directory.removeEntry(file);
    throw error;
  }
}

/** Gives back the room of a file that was exported. */
export async function endExport(engine: Engine, file: string): Promise<void> {
  await engine.place?.directory.removeEntry(file);
}

/** A store that comes in as the bytes of a file. */
export class Import {
  readonly #request: OpenRequest;
  readonly #place: Place;
  readonly #file: FileSystemSyncAccessHandle;
  #length = 0;

  private constructor(request: OpenRequest, place: Place, file: FileSystemSyncAccessHandle) {
    this.#request = request;
    this.#place = place;
    this.#file = file;
  }

  /** Takes the place, which must be empty. */
  static async begin(request: OpenRequest): Promise<Import> {
    const [, place] = await Promise.all([load(request.wasm), Place.take(request, true)]);
    try {
      if (place.handles.some((handle) => handle.getSize() > 0)) {
        const { name } = request;
        throw new InvalidArgumentError(`name: expected one that no store has, found "${name}"`);
      }
      const handle = await place.directory.getFileHandle("import", { create: true });
      return new Import(request, place, await handle.createSyncAccessHandle());
    } catch (error) {
      place.letGo();
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

  /** Makes a store of the file, if it came whole; else, or if that fails, leaves nothing. */
  async end(whole: boolean): Promise<void> {
    let made = false;
    try {
      if (whole) guard(() => import_file(this.#file, this.#place.handles));
      made = whole;
    } finally {
      this.#file.close();
      if (made) await this.#place.sweep();
      this.#place.letGo();
      if (!made) await removeDirectory(this.#request).catch(toError);
    }
  }
}
