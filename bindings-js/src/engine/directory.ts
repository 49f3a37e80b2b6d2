/** A store's directory: `terrane/<name>` in the origin private file system. */

import { ClosedError, NotFoundError, UnavailableError } from "../api/errors.ts";
import type { StoreRequest } from "../codec/protocol.ts";
import { delay } from "../shared/delay.ts";
import { isDomException, noStore, rootDirectory } from "../shared/root-directory.ts";

/** The delay between attempts in milliseconds: doubled each time, up to the maximum. */
const FIRST_DELAY = 10;
const MAX_DELAY = 250;

/** Opens a store's directory. */
export async function directoryOf(
  name: string,
  create: boolean,
): Promise<FileSystemDirectoryHandle> {
  const root = await rootDirectory(create);
  try {
    return await root.getDirectoryHandle(name, { create });
  } catch (cause) {
    throw isDomException(cause, "NotFoundError") ? noStore(name, cause) : cause;
  }
}

/** Opens a file for synchronous access, which no other handle on it may have. */
export async function openFile(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> {
  try {
    return guarded(await file.createSyncAccessHandle());
  } catch (cause) {
    const exists = typeof file.createSyncAccessHandle === "function";
    if (exists && !isDomException(cause, "NotSupportedError")) throw cause;
    const message = `the browser opens no file of its private file system synchronously: ${cause}`;
    throw new UnavailableError(message, { cause });
  }
}

/**
 * Keeps a worker that has ended from writing. Chromium freezes a worker amid its code when the page enters the
 * back/forward cache, and continues that code after it has ended the worker with the cached page. A write then crashes
 * the process, which other pages share. The state of a `FileReader` without a task changes when its worker ends, and no
 * other code runs between that check and the write.
 */
function guarded(handle: FileSystemSyncAccessHandle): FileSystemSyncAccessHandle {
  const files = FileSystemSyncAccessHandle.prototype;
  const probe = new FileReader();
  const checkAlive = () => {
    if (probe.readyState !== probe.EMPTY) throw new ClosedError("the worker has ended");
  };
  handle.write = (bytes, options) => (checkAlive(), files.write.call(handle, bytes, options));
  handle.truncate = (size) => (checkAlive(), files.truncate.call(handle, size));
  return handle;
}

/** Deletes a store's directory, if it exists. */
export async function removeDirectory({ name, timeout }: StoreRequest): Promise<void> {
  try {
    const root = await rootDirectory(false);
    await retryWhileBusy(() => root.removeEntry(name, { recursive: true }), timeout);
  } catch (error) {
    if (!isDomException(error, "NotFoundError") && !(error instanceof NotFoundError)) throw error;
  }
}

/**
 * Retries while another handle on the file is open, or the browser is clearing the origin's storage, for
 * `timeout` milliseconds, unless the signal is aborted first.
 */
export async function retryWhileBusy<T>(
  attempt: () => Promise<T>,
  timeout: number,
  signal?: AbortSignal,
): Promise<T> {
  const end = performance.now() + timeout;
  for (let pause = FIRST_DELAY; ; pause = Math.min(2 * pause, MAX_DELAY)) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const isBusy =
        isDomException(error, "NoModificationAllowedError") ||
        isDomException(error, "InvalidStateError");
      if (!isBusy || performance.now() >= end) throw error;
    }
    await delay(pause, signal);
  }
}
