/** Terrane in the worker that owns its files. */

import { type Db, destroy, open } from "terrane/worker";
import { CACHE_BYTES, type Contender, type Store } from "../contender.ts";

const NAME = "comparison-sync";

export const terraneSync: Contender = {
  async open() {
    await destroy(NAME);
    const binary = { keyEncoding: "binary", valueEncoding: "binary" } as const;
    return store(await open(NAME, { ...binary, durability: "buffered", cacheBytes: CACHE_BYTES }));
  },
};

function store(db: Db<"binary", "binary">): Store {
  return {
    batch: (entries) => db.batch(entries.map(([key, value]) => ({ type: "put", key, value }))),
    put: ([key, value]) => db.put(key, value),
    get: (key) => db.get(key),
    getMany: (keys) => db.getMany(keys),
    scan: (from, count) => [...db.entries({ gte: from, limit: count })],
    close: () => db.close(),
  };
}
