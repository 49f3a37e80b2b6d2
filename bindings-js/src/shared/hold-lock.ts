/** Web Locks: holding one until it is released, and looking which are held. */

/** Acquires a lock; the returned function releases it. */
export function holdLock(name: string, options: LockOptions = {}): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const granted = (lock: Lock | null) => {
      if (lock === null) throw new Error(`the lock ${name} is held`);
      return new Promise<void>((release) => resolve(release));
    };
    navigator.locks.request(name, options, granted).catch(reject);
  });
}

/** Returns the names of the locks that are held in this origin. Where the query fails, nothing is known of any. */
export async function heldLocks(): Promise<string[]> {
  const { held = [] } = await navigator.locks.query().catch(() => ({ held: [] as LockInfo[] }));
  return held.map(({ name = "" }) => name);
}
