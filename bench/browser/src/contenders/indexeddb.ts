/** IndexedDB, called without a library: one object store, a transaction a call. */

import type { Contender, Entry, Store } from "../contender.ts";

const NAME = "comparison";
const OBJECTS = "entries";

/** Newer than what TypeScript's library knows. */
interface Records {
  getAllRecords?: (options: {
    query: IDBKeyRange;
    count: number;
  }) => IDBRequest<{ key: ArrayBuffer; value: Uint8Array }[]>;
}

export const indexedDb: Contender = {
  async open() {
    await resultOf(indexedDB.deleteDatabase(NAME));
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => opening.result.createObjectStore(OBJECTS);
    return store(await resultOf(opening));
  },
};

function store(database: IDBDatabase): Store {
  const read = () => database.transaction(OBJECTS).objectStore(OBJECTS);
  return {
    batch: (entries) => write(database, entries),
    put: (entry) => write(database, [entry]),
    get: (key) => resultOf(read().get(key as IDBValidKey)),
    getMany: (keys) => {
      const objects = read();
      return all(keys.map((key) => objects.get(key as IDBValidKey)));
    },
    async scan(from, count) {
      const range = IDBKeyRange.lowerBound(from);
      const objects = read() as IDBObjectStore & Records;
      if (objects.getAllRecords !== undefined) {
        const records = await resultOf(objects.getAllRecords({ query: range, count }));
        return records.map(({ key, value }): Entry => [new Uint8Array(key), value]);
      }
      const [keys, values] = await Promise.all([
        resultOf(objects.getAllKeys(range, count) as IDBRequest<ArrayBuffer[]>),
        resultOf(objects.getAll(range, count) as IDBRequest<Uint8Array[]>),
      ]);
      return keys.map((key, at): Entry => [new Uint8Array(key), values[at]!]);
    },
    close: () => database.close(),
  };
}

function write(database: IDBDatabase, entries: readonly Entry[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(OBJECTS, "readwrite", { durability: "relaxed" });
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
    const objects = transaction.objectStore(OBJECTS);
    for (const [key, value] of entries) objects.put(value, key as IDBValidKey);
    transaction.commit();
  });
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** The results of the requests of one transaction, which arrive in their order. */
function all<T>(requests: IDBRequest<T>[]): Promise<T[]> {
  return new Promise((resolve, reject) => {
    for (const request of requests) request.onerror = () => reject(request.error);
    const last = requests.at(-1);
    if (last === undefined) resolve([]);
    else last.onsuccess = () => resolve(requests.map(({ result }) => result));
  });
}
