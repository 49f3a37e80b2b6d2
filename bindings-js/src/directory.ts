/**
 * Where a store lies: the directory `terrane/<name>` of the origin's private file system.
 */

import { NotFoundError, UnavailableError } from "./errors.ts";
import type { StoreRequest } from "./protocol.ts";

const ROOT = "terrane";
/** The pause between attempts, in milliseconds: doubled each time, up to the longest. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 250;

/** The directory of a store. */
export async function directoryOf(
  name: string,
  create: boolean,
): Promise<FileSystemDirectoryHandle> {
  const root = await rootDirectory(create);
  try {
    return await root.getDirectoryHandle(name, { create });
  } catch (cause) {
    throw isNamed(cause, "NotFoundError") ? noStore(name, cause) : cause;
  }
}

/** Deletes a store's directory; nothing happens if there is none. */
export async function removeDirectory({ name, timeout }: StoreRequest): Promise<void> {
  try {
    const root = await rootDirectory(false);
    await retryWhileHeld(() => root.removeEntry(name, { recursive: true }), timeout);
  } catch (error) {
    if (!isNamed(error, "NotFoundError") && !(error instanceof NotFoundError)) throw error;
  }
}

/**
 * Tries again as long as another handle is open on the file, for `timeout` milliseconds, or until
 * `stop` comes.
 */
export async function retryWhileHeld<T>(
  attempt: () => Promise<T>,
  timeout: number,
  stop?: AbortSignal,
): Promise<T> {
  const end = performance.now() + timeout;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    stop?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!isNamed(error, "NoModificationAllowedError") || performance.now() >= end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function rootDirectory(create: boolean): Promise<FileSystemDirectoryHandle> {
  let storage: FileSystemDirectoryHandle;
  try {
    storage = await navigator.storage.getDirectory();
  } catch (cause) {
    throw new UnavailableError(
      `the browser refused its private file system, as in private mode: ${cause}`,
      { cause },
    );
  }
  try {
    return await storage.getDirectoryHandle(ROOT, { create });
  } catch (cause) {
    throw isNamed(cause, "NotFoundError") ? noStore(ROOT, cause) : cause;
  }
}

/** The error where there is no such store. */
export function noStore(name: string, cause: unknown): NotFoundError {
  return new NotFoundError(`there is no store "${name}" on this origin`, { cause });
}

/** Whether something thrown is the browser's exception of that name. */
export function isNamed(error: unknown, name: string): boolean {
  return error instanceof DOMException && error.name === name;
}
