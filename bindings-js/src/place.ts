/** A store's place, as a worker holds it: locks, directory and open files. */

import { directoryOf, isNamed, noStore, retryWhileHeld } from "./directory.ts";
import { NotFoundError } from "./errors.ts";
import { type Hold, hold } from "./locks.ts";
import type { StoreRequest } from "./protocol.ts";

/** The volume's backing files. A sync of the log does not wait for writes to tables. */
const FILES = ["journal", "log", "data"];

/** What has files open, until it is freed. */
export interface Holder {
  free(): void;
}

/** Those whose files are gone. */
const kept: Holder[] = [];
/** Places that are being let go of. */
const leaving: Set<Promise<void>> = new Set();

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

  /** Takes it all, unless `stop` comes first; on failure lets all go again. */
  static async take(request: StoreRequest, create: boolean, stop?: AbortSignal): Promise<Place> {
    await allLeft();
    const held = await hold(request, stop);
    const handles: FileSystemSyncAccessHandle[] = [];
    try {
      const directory = await directoryOf(request.name, create);
      for (const file of FILES) {
        const handle = await directory.getFileHandle(file, { create });
        const open = () => handle.createSyncAccessHandle();
        handles.push(await retryWhileHeld(open, request.timeout, stop));
      }
      return new Place(held, directory, handles);
    } catch (error) {
      close(handles);
      held.release();
      throw isNamed(error, "NotFoundError") ? noStore(request.name, error) : error;
    }
  }

  /** Whether nothing was ever written to it. */
  get isEmpty(): boolean {
    return this.handles.every((handle) => handle.getSize() === 0);
  }

  /** Removes what copies left that were cut short, but for the file `kept`. */
  async sweep(kept?: string): Promise<void> {
    for await (const file of this.directory.keys()) {
      if (!FILES.includes(file) && file !== kept) await this.directory.removeEntry(file);
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

  /**
   * Frees what has files of this place open. From closing a file that was removed with its origin's
   * storage Chromium never comes back: who has such a one is kept instead.
   */
  async free(...holders: Holder[]): Promise<void> {
    const isThere = await this.verify().then(
      () => true,
      () => false,
    );
    if (isThere) for (const holder of holders) holder.free();
    else kept.push(...holders);
  }

  /** Lets go of everything: `holders`, the files if they are still there, and the locks. */
  async release(...holders: Holder[]): Promise<void> {
    const left = this.free(...holders, { free: () => close(this.handles) }).finally(this.#release);
    leaving.add(left);
    await left.finally(() => leaving.delete(left));
  }

  /** Lets go of everything, where the files were seen a moment ago. */
  releaseNow(holder: Holder): void {
    holder.free();
    close(this.handles);
    this.#release();
  }
}

/** Waits until this worker has let go of what it is about to. */
export async function allLeft(): Promise<void> {
  await Promise.allSettled(leaving);
}

function close(handles: FileSystemSyncAccessHandle[]): void {
  for (const handle of handles) handle.close();
}
