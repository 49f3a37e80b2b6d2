/**
 * Dexie: objects with a key, as its users store them. Its promises are not the language's own
 * (`instanceof` differs), so every method awaits them.
 */

import { Dexie, type Table } from "dexie";
import type { Contender, Store } from "../contender.ts";

const NAME = "comparison-dexie";

interface Row {
  key: Uint8Array;
  value: Uint8Array;
}

export const dexie: Contender = {
  async open() {
    await Dexie.delete(NAME);
    // The option's name is old: it is the durability that all browsers are asked for.
    const db = new Dexie(NAME, { chromeTransactionDurability: "relaxed" });
    db.version(1).stores({ entries: "key" });
    await db.open();
    return store(db, db.table("entries"));
  },
};

function store(db: Dexie, table: Table<Row, Uint8Array>): Store {
  return {
    batch: async (entries) => await table.bulkPut(entries.map(([key, value]) => ({ key, value }))),
    put: async ([key, value]) => await table.put({ key, value }),
    get: async (key) => (await table.get(key))?.value,
    getMany: async (keys) => (await table.bulkGet([...keys])).map((row) => row?.value),
    async scan(from, count) {
      const rows = await table.where("key").aboveOrEqual(from).limit(count).toArray();
      return rows.map(({ key, value }) => [key, value]);
    },
    close: () => db.close(),
  };
}
