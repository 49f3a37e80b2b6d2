/** Web Locks that are held until they are released. */

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
