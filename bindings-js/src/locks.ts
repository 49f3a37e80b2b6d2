/**
 * Who has a store: its owner holds the lock `terrane:<name>`, and a second lock whose name says who
 * it is. A page that goes away may hold them for two seconds more: that is waited for.
 */

import { isNamed } from "./directory.ts";
import { BusyError, UnavailableError } from "./errors.ts";
import { holderLock, parseHolder, storeLock, type StoreRequest } from "./protocol.ts";

/** A store's locks, held. */
export interface Hold {
  /** The name of the lock that says who holds the store. */
  lock: string;
  release: () => void;
}

/** Takes a store's locks, or says who has them when the time is over; unless `stop` comes first. */
export async function hold(store: StoreRequest, stop?: AbortSignal): Promise<Hold> {
  const { name, page, client, timeout } = store;
  const lockName = storeLock(name);
  // What is free is taken however short the timeout: granting it takes a while, too.
  const release = await request(lockName, { ifAvailable: true })
    .catch(() => requestFor(lockName, timeout, stop))
    .catch(async (cause: unknown) => {
      stop?.throwIfAborted();
      if (isNamed(cause, "TimeoutError")) {
        throw new BusyError(await describeHolder(name, client), { cause });
      }
      throw new UnavailableError(`the browser refused a lock: ${cause}`, { cause });
    });
  const lock = holderLock({ name, page, client, since: new Date().toISOString() });
  try {
    const releaseName = await request(lock);
    return {
      lock,
      release: () => {
        releaseName();
        release();
      },
    };
  } catch (cause) {
    release();
    throw new UnavailableError(`the browser refused a lock: ${cause}`, { cause });
  }
}

/**
 * Holds a lock as long as this worker lives, by which others see that it does; its name, where the
 * browser has locks.
 */
export async function showLife(): Promise<string | undefined> {
  if (globalThis.navigator?.locks === undefined) return undefined;
  const lock = `terrane-worker:${crypto.randomUUID()}`;
  await request(lock);
  return lock;
}

/** Requests a lock for so many milliseconds, or until `stop` comes. */
async function requestFor(
  name: string,
  timeout: number,
  stop: AbortSignal | undefined,
): Promise<() => void> {
  const waiting = new AbortController();
  const end = (reason: unknown) => waiting.abort(reason);
  const stopped = () => end(stop?.reason);
  const passed = () => end(new DOMException("the lock is held", "TimeoutError"));
  const timer = setTimeout(passed, timeout);
  stop?.addEventListener("abort", stopped);
  if (stop?.aborted) stopped();
  try {
    return await request(name, { signal: waiting.signal });
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener("abort", stopped);
  }
}

/** Holds a lock until the returned function is called. */
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
async function describeHolder(name: string, client: string): Promise<string> {
  // A browser that does not say who it is has said that there is one.
  const { held = [] } = await navigator.locks.query().catch(() => ({ held: [] }));
  const owner = held.map((lock) => parseHolder(lock.name)).find((found) => found?.name === name);
  if (owner === undefined) return `store "${name}" is held by another page of this origin`;
  const where = owner.client === client ? "by this page itself" : `in another tab, ${owner.page}`;
  return `store "${name}" is open ${where}, since ${owner.since}`;
}
