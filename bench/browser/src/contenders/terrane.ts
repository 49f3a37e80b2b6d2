/** Terrane through its client. */

import { type Db, destroy, open } from "terrane";
import { CACHE_BYTES, type Contender, type Entry, type Store } from "../contender.ts";

const NAME = "comparison";

export const terrane: Contender = {
  async open() {
    await destroy(NAME);
    return store(
      await open(NAME, {
        keyEncoding: "binary",
        valueEncoding: "binary",
        durability: "buffered",
        cacheBytes: CACHE_BYTES,
      }),
    );
  },
};

function store(db: Db<"binary", "binary">): Store {
  return {
    batch: (entries) => db.batch(entries.map(([key, value]) => ({ type: "put", key, value }))),
    put: ([key, value]) => db.put(key, value),
    get: (key) => db.get(key),
    getMany: (keys) => db.getMany(keys),
    async scan(from, count) {
      const entries: Entry[] = [];
      for await (const entry of db.entries({ gte: from, limit: count })) entries.push(entry);
      return entries;
    },
    close: () => db.close(),
  };
}
