/**
 * Where a store lies, and who has it.
 *
 * 1. A store is the directory `terrane/<name>` of the origin's private file system.
 * 2. Its owner holds the lock `terrane:<name>`, and a second lock whose name says who it is.
 * 3. A page that goes away may hold lock or files for two seconds more: both are waited for.
 */

import { BusyError, NoStoreError, UnavailableError } from "./errors.ts";
import { type Holder, holderLock, parseHolder, storeLock } from "./protocol.ts";

const ROOT = "terrane";
/** The pause between attempts, in milliseconds: doubled each time, up to the longest. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 250;

/** A store's locks, held. */
export interface Hold {
  /** The name of the lock that says who holds the store. */
  lock: string;
  release: () => void;
}

/** Takes a store's locks, or says who has them when `timeout` milliseconds have passed. */
export async function hold(holder: Holder, timeout: number): Promise<Hold> {
  const lockName = storeLock(holder.name);
  // What is free is taken however short the timeout: granting it takes a while, too.
  const release = await request(lockName, { ifAvailable: true })
    .catch(() => request(lockName, { signal: AbortSignal.timeout(timeout) }))
    .catch(async (cause: unknown) => {
      if (cause instanceof DOMException && cause.name === "TimeoutError") {
        throw new BusyError(await describeHolder(holder), { cause });
      }
      throw new UnavailableError(`the browser refused a lock: ${cause}`, { cause });
    });
  const lock = holderLock(holder);
  const releaseName = await request(lock);
  return {
    lock,
    release: () => {
      releaseName();
      release();
    },
  };
}

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
export async function removeDirectory(name: string, timeout: number): Promise<void> {
  try {
    const root = await rootDirectory(false);
    await retryWhileHeld(() => root.removeEntry(name, { recursive: true }), timeout);
  } catch (error) {
    if (!isNamed(error, "NotFoundError") && !(error instanceof NoStoreError)) throw error;
  }
}

/** Tries again as long as another handle is open on the file, for `timeout` milliseconds. */
export async function retryWhileHeld<T>(attempt: () => Promise<T>, timeout: number): Promise<T> {
  const end = performance.now() + timeout;
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
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

function noStore(name: string, cause: unknown): NoStoreError {
  return new NoStoreError(`there is no store "${name}" on this origin`, { cause });
}

/** Holds a lock until the function that it answers is called. */
function request(name: string, options: LockOptions = {}): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = (lock: Lock | null) => {
      if (lock === null) throw new Error(`the lock ${name} is held`);
      return new Promise<void>((release) => resolve(release));
    };
    navigator.locks.request(name, options, held).catch(reject);
  });
}

/** The sentence for a second opener. */
async function describeHolder({ name, client }: Holder): Promise<string> {
  const { held = [] } = await navigator.locks.query();
  const owner = held.map((lock) => parseHolder(lock.name)).find((found) => found?.name === name);
  if (owner === undefined) return `store "${name}" is held by another page of this origin`;
  const where = owner.client === client ? "by this page itself" : `in another tab, ${owner.page}`;
  return `store "${name}" is open ${where}, since ${owner.since}`;
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof DOMException && error.name === name;
}
