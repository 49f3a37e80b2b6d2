/** IndexedDB and the libraries on it: they are the same in a page and in a worker. */

import type { Loaders } from "../contender.ts";

export const onIndexedDb = {
  indexeddb: async () => (await import("./indexeddb.ts")).indexedDb,
  "idb-keyval": async () => (await import("./idb-keyval.ts")).idbKeyval,
  "browser-level": async () => (await import("./browser-level.ts")).browserLevel,
  dexie: async () => (await import("./dexie.ts")).dexie,
} satisfies Partial<Loaders>;
