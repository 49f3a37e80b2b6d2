/** idb-keyval, which has no range to read: `entries` gives out the whole store. */

import { createStore, get, getMany, promisifyRequest, set, setMany } from "idb-keyval";
import type { Contender } from "../contender.ts";

const NAME = "comparison-idb-keyval";

export const idbKeyval: Contender = {
  async open() {
    await promisifyRequest(indexedDB.deleteDatabase(NAME));
    const objects = createStore(NAME, "entries");
    return {
      batch: (entries) => setMany(entries as unknown as [IDBValidKey, Uint8Array][], objects),
      put: ([key, value]) => set(key as IDBValidKey, value, objects),
      get: (key) => get<Uint8Array>(key as IDBValidKey, objects),
      getMany: (keys) => getMany(keys as readonly IDBValidKey[] as IDBValidKey[], objects),
      // The library keeps its connection to itself, and shows it to a transaction alone.
      close: () => objects("readonly", (store) => store.transaction.db.close()),
    };
  },
};
