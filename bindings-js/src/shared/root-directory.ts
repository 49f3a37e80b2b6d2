/** The directory of all stores: `terrane` in the origin private file system. */

import { NotFoundError, UnavailableError } from "../api/errors.ts";

const ROOT = "terrane";

/** Opens the directory; fails with a `NotFoundError` if there is none. */
export async function rootDirectory(create: boolean): Promise<FileSystemDirectoryHandle> {
  let storage: FileSystemDirectoryHandle;
  try {
    storage = await navigator.storage.getDirectory();
  } catch (cause) {
    throw new UnavailableError(
      `the browser denied access to its private file system, as in private mode: ${cause}`,
      { cause },
    );
  }
  try {
    return await storage.getDirectoryHandle(ROOT, { create });
  } catch (cause) {
    throw isDomException(cause, "NotFoundError") ? noStore(ROOT, cause) : cause;
  }
}

/** The error for a store that does not exist. */
export function noStore(name: string, cause: unknown): NotFoundError {
  return new NotFoundError(`there is no store "${name}" on this origin`, { cause });
}

/** Whether an exception is the browser's `DOMException` of that name. */
export function isDomException(error: unknown, name: string): boolean {
  return error instanceof DOMException && error.name === name;
}
