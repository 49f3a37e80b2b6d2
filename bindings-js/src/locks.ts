/**
 * Who has a store: its owner holds the lock `terrane:<name>`, and a second lock whose name says who
 * it is. A page that goes away may hold them for two seconds more: that is waited for.
 */

import { BusyError, UnavailableError } from "./errors.ts";
import { type Asked, holderLock, parseHolder, storeLock } from "./protocol.ts";

/** A store's locks, held. */
export interface Hold {
  /** The name of the lock that says who holds the store. */
  lock: string;
  release: () => void;
}

/** Takes a store's locks, or says who has them when the time is over. */
export async function hold({ name, page, client, timeout }: Asked): Promise<Hold> {
  const release = await request(storeLock(name), AbortSignal.timeout(timeout)).catch(
    async (cause: unknown) => {
      if (cause instanceof DOMException && cause.name === "TimeoutError") {
        throw new BusyError(await describeHolder(name, client), { cause });
      }
      throw new UnavailableError(`the browser refused a lock: ${cause}`, { cause });
    },
  );
  const lock = holderLock({ name, page, client, since: new Date().toISOString() });
  const releaseName = await request(lock);
  return {
    lock,
    release: () => {
      releaseName();
      release();
    },
  };
}

/** Holds a lock until the function that it answers is called. */
function request(name: string, signal?: AbortSignal): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = () => new Promise<void>((release) => resolve(release));
    navigator.locks.request(name, signal === undefined ? {} : { signal }, held).catch(reject);
  });
}

/** The sentence for a second opener. */
async function describeHolder(name: string, client: string): Promise<string> {
  const { held = [] } = await navigator.locks.query();
  const owner = held.map((lock) => parseHolder(lock.name)).find((found) => found?.name === name);
  if (owner === undefined) return `store "${name}" is held by another page of this origin`;
  const where = owner.client === client ? "by this page itself" : `in another tab, ${owner.page}`;
  return `store "${name}" is open ${where}, since ${owner.since}`;
}
