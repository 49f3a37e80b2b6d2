/** browser-level: the interface of abstract-level on IndexedDB. */

import { BrowserLevel } from "browser-level";
import type { Contender } from "../contender.ts";

const NAME = "comparison-level";

export const browserLevel: Contender = {
  async open() {
    await BrowserLevel.destroy(NAME);
    const db = new BrowserLevel<Uint8Array, Uint8Array>(NAME, {
      keyEncoding: "view",
      valueEncoding: "view",
    });
    await db.open();
    return {
      batch: (entries) => db.batch(entries.map(([key, value]) => ({ type: "put", key, value }))),
      put: ([key, value]) => db.put(key, value),
      get: (key) => db.get(key),
      getMany: (keys) => db.getMany([...keys]),
      scan: (from, count) => db.iterator({ gte: from, limit: count }).all(),
      close: () => db.close(),
    };
  },
};
