/** A store's files on the origin private file system, as a worker holds them. */

import { directoryOf, openFile, removeDirectory, retryWhileBusy } from "./directory.ts";
import { isDomException, noStore } from "../shared/root-directory.ts";
import { NotFoundError } from "../api/errors.ts";
import { acquireLocks, type HeldLocks } from "./locks.ts";
import type { StoreRequest } from "../codec/protocol.ts";

/** The volume's backing files; separate, so that a WAL sync does not wait for table writes. */
const FILES = ["journal", "log", "data"];

/** Something that has files open until it is freed. */
export interface FileUser {
  free(): void;
}

/** Users whose files are gone. */
const leaked: FileUser[] = [];
/** Releases in progress. */
const releasing: Set<Promise<void>> = new Set();

/** A store's locks, directory and open files. */
export class OpfsFiles {
  /** The name of the lock that describes the holder. */
  readonly holderLock: string;
  readonly directory: FileSystemDirectoryHandle;
  readonly handles: FileSystemSyncAccessHandle[];
  readonly #release: () => void;
  readonly #wasEmpty: boolean;

  private constructor(
    locks: HeldLocks,
    directory: FileSystemDirectoryHandle,
    handles: FileSystemSyncAccessHandle[],
  ) {
    this.holderLock = locks.holderLock;
    this.#release = locks.release;
    this.directory = directory;
    this.handles = handles;
    this.#wasEmpty = this.isEmpty;
  }

  /** Acquires them all, unless the signal is aborted first; if that fails, releases them again. */
  static async acquire(
    request: StoreRequest,
    create: boolean,
    signal?: AbortSignal,
  ): Promise<OpfsFiles> {
    await allReleased();
    const locks = await acquireLocks(request, signal);
    try {
      const open = () => openFiles(request.name, create);
      const { directory, handles } = await retryWhileBusy(open, request.timeout, signal);
      return new OpfsFiles(locks, directory, handles);
    } catch (error) {
      locks.release();
      throw isDomException(error, "NotFoundError") ? noStore(request.name, error) : error;
    }
  }

  /** Whether nothing was ever written to them. */
  get isEmpty(): boolean {
    return this.handles.every((handle) => handle.getSize() === 0);
  }

  /** Removes what interrupted copies left behind, except for the file `kept`. */
  async removeLeftovers(kept?: string): Promise<void> {
    for await (const file of this.directory.keys()) {
      if (!FILES.includes(file) && file !== kept) await this.directory.removeEntry(file);
    }
  }

  /** Fails if the files no longer exist. */
  async verify(): Promise<void> {
    try {
      await allExist(this.directory, FILES);
    } catch (cause) {
      throw new NotFoundError("the store's files were removed underneath it", { cause });
    }
  }

  /** Frees users of these files if they still exist. */
  free(...users: FileUser[]): Promise<void> {
    return freeUsers(this.directory, FILES, users);
  }

  /** Releases everything: `users`, the files if they still exist, and the locks. */
  async release(...users: FileUser[]): Promise<void> {
    await this.#end(this.free(...users, { free: () => close(this.handles) }));
  }

  /** Releases everything, and removes the files if they were empty when they were acquired. */
  async discard(request: StoreRequest, ...users: FileUser[]): Promise<void> {
    const freed = this.free(...users, { free: () => close(this.handles) });
    await this.#end(this.#wasEmpty ? freed.then(() => removeDirectory(request)) : freed);
  }

  async #end(freed: Promise<void>): Promise<void> {
    const released = freed.finally(this.#release);
    releasing.add(released);
    await released.finally(() => releasing.delete(released));
  }

  /** Releases everything at once; the files must have been verified just before. */
  releaseNow(user: FileUser): void {
    user.free();
    close(this.handles);
    this.#release();
  }
}

/** Waits for the releases in progress. */
export async function allReleased(): Promise<void> {
  await Promise.allSettled(releasing);
}

/** Opens the files of a store, or none. */
async function openFiles(
  name: string,
  create: boolean,
): Promise<Pick<OpfsFiles, "directory" | "handles">> {
  const directory = await directoryOf(name, create);
  const handles: FileSystemSyncAccessHandle[] = [];
  try {
    for (const file of FILES) {
      const handle = await directory.getFileHandle(file, { create });
      handles.push(await openFile(handle));
    }
    return { directory, handles };
  } catch (error) {
    const opened = FILES.slice(0, handles.length);
    await freeUsers(directory, opened, [{ free: () => close(handles) }]);
    throw error;
  }
}

/**
 * Frees users of files that still exist. Chromium hangs when a file is closed that was removed together
 * with its origin's storage: users of such files are leaked instead.
 */
async function freeUsers(
  directory: FileSystemDirectoryHandle,
  files: string[],
  users: FileUser[],
): Promise<void> {
  const exist = await allExist(directory, files).then(
    () => true,
    () => false,
  );
  if (exist) for (const user of users) user.free();
  else leaked.push(...users);
}

async function allExist(directory: FileSystemDirectoryHandle, files: string[]): Promise<void> {
  for (const file of files) await directory.getFileHandle(file);
}

function close(handles: FileSystemSyncAccessHandle[]): void {
  for (const handle of handles) handle.close();
}
