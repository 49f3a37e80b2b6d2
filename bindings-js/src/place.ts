/** A store's place, as a worker holds it: locks, directory and open files. */

import { directoryOf, isNamed, noStore, retryWhileHeld } from "./directory.ts";
import { NotFoundError } from "./errors.ts";
import { type Hold, hold } from "./locks.ts";
import type { Asked } from "./protocol.ts";

/** The volume's backing files. A sync of the log does not wait for writes to tables. */
const FILES = ["journal", "log", "data"];

/** A store's place, held: its locks, its directory and its files. */
export class Place {
  readonly lock: string;
  readonly directory: FileSystemDirectoryHandle;
  readonly handles: FileSystemSyncAccessHandle[];
  readonly #release: () => void;

  private constructor(
    hold: Hold,
    directory: FileSystemDirectoryHandle,
    handles: FileSystemSyncAccessHandle[],
  ) {
    this.lock = hold.lock;
    this.#release = hold.release;
    this.directory = directory;
    this.handles = handles;
  }

  /** Takes it all; on failure lets all go again. */
  static async take(asked: Asked, create: boolean): Promise<Place> {
    const held = await hold(asked);
    const handles: FileSystemSyncAccessHandle[] = [];
    try {
      const directory = await directoryOf(asked.name, create);
      for (const file of FILES) {
        const handle = await directory.getFileHandle(file, { create });
        handles.push(await retryWhileHeld(() => handle.createSyncAccessHandle(), asked.timeout));
      }
      return new Place(held, directory, handles);
    } catch (error) {
      letGo(handles);
      held.release();
      throw isNamed(error, "NotFoundError") ? noStore(asked.name, error) : error;
    }
  }

  /** Whether nothing was ever written to it. */
  get isEmpty(): boolean {
    return this.handles.every((handle) => handle.getSize() === 0);
  }

  /** Removes what copies left that were cut short. */
  async sweep(): Promise<void> {
    for await (const file of this.directory.keys()) {
      if (!FILES.includes(file)) await this.directory.removeEntry(file);
    }
  }

  /** Fails if the files are not there any more. */
  async verify(): Promise<void> {
    try {
      for (const file of FILES) await this.directory.getFileHandle(file);
    } catch (cause) {
      throw new NotFoundError("the store's files were removed underneath it", { cause });
    }
  }

  /** Lets go of locks and files; `close` is false for files that are gone, which may never close. */
  letGo(close: boolean = true): void {
    if (close) letGo(this.handles);
    this.#release();
  }
}

function letGo(handles: FileSystemSyncAccessHandle[]): void {
  for (const handle of handles) handle.close();
}
