/**
 * A store's locks: its holder has the lock `terrane:<name>`, and a second lock whose name describes the
 * holder. A page that is being closed may keep them for another two seconds, hence the timeout.
 */

import { isDomException } from "../shared/root-directory.ts";
import { BusyError, UnavailableError } from "../api/errors.ts";
import { holderLock, storeLock, type StoreRequest } from "../codec/protocol.ts";
import { isClientLock } from "../codec/sharing.ts";
import { delay } from "../shared/delay.ts";
import { describeHolder } from "../shared/holder.ts";
import { heldLocks, holdLock } from "../shared/hold-lock.ts";

/** The time that clients without a leader have before they are looked for again, in milliseconds. */
const CLIENTS_DELAY = 100;

/** A store's locks, acquired. */
export interface HeldLocks {
  /** The name of the lock that describes the holder. */
  holderLock: string;
  release: () => void;
}

/**
 * Acquires a store's locks; after the timeout, fails with who has them. It fails at once if the signal is
 * aborted. Whoever shares the store with nobody also waits for its clients, which have no leader for a moment
 * while one follows another.
 */
export async function acquireLocks(store: StoreRequest, signal?: AbortSignal): Promise<HeldLocks> {
  // Node has no `navigator`, or one without files.
  const found = globalThis.navigator as Partial<typeof navigator> | undefined;
  if (found?.locks === undefined || found.storage?.getDirectory === undefined) {
    const elsewhere = "in Node, terrane-node has stores on files";
    throw new UnavailableError(`there is no private file system here for a store; ${elsewhere}`);
  }
  const end = performance.now() + store.timeout;
  for (;;) {
    const timeout = Math.max(0, end - performance.now());
    const held = await acquireWithin({ ...store, timeout }, signal);
    if (store.leader !== undefined || !(await hasClients(store.name))) return held;
    held.release();
    if (performance.now() >= end) {
      throw new BusyError(await describeHolder(store.name, store.client));
    }
    await delay(CLIENTS_DELAY, signal);
    signal?.throwIfAborted();
  }
}

/** Whether pages or workers share a store. */
async function hasClients(store: string): Promise<boolean> {
  return (await heldLocks()).some((lock) => isClientLock(lock, store));
}

async function acquireWithin(store: StoreRequest, signal?: AbortSignal): Promise<HeldLocks> {
  const { name, page, client, timeout, leader } = store;
  const lockName = storeLock(name);
  // A free lock is acquired however short the timeout: granting it takes time.
  const release = await holdLock(lockName, { ifAvailable: true })
    .catch(() => requestWithin(lockName, timeout, signal))
    .catch(async (cause: unknown) => {
      signal?.throwIfAborted();
      if (isDomException(cause, "TimeoutError")) {
        throw new BusyError(await describeHolder(name, client), { cause });
      }
      throw new UnavailableError(`the browser denied a lock: ${cause}`, { cause });
    });
  const holder = holderLock({ name, page, client, since: new Date().toISOString(), leader });
  try {
    const releaseHolder = await holdLock(holder);
    return {
      holderLock: holder,
      release: () => {
        releaseHolder();
        release();
      },
    };
  } catch (cause) {
    release();
    throw new UnavailableError(`the browser denied a lock: ${cause}`, { cause });
  }
}

/**
 * Holds a lock for as long as this worker lives, so that the page can tell. Returns its name, or
 * undefined where there are no locks.
 */
export async function holdLifeLock(): Promise<string | undefined> {
  if (globalThis.navigator?.locks === undefined) return undefined;
  const lock = `terrane-worker:${crypto.randomUUID()}`;
  // It is denied to a sandboxed frame.
  return holdLock(lock).then(
    () => lock,
    () => undefined,
  );
}

/** Requests a lock for that many milliseconds, unless the signal is aborted first. */
async function requestWithin(
  name: string,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const waiting = new AbortController();
  const abort = () => waiting.abort(signal?.reason);
  const expire = () => waiting.abort(new DOMException("the lock is held", "TimeoutError"));
  const timer = setTimeout(expire, timeout);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  try {
    return await holdLock(name, { signal: waiting.signal });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
