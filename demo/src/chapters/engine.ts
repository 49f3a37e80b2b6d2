/** The engine in a page, for the chapter on LSM trees: a small store in memory. */

import { type Db, open } from "terrane";
import { placesOf } from "../source/read-path.ts";
import type { Measured } from "./measure.ts";

let stores = 0;

/** Opens an empty store in memory, of the build that traces reads. */
export function openStore(): Promise<Db> {
  stores += 1;
  return open(`chapter-${stores}`, { storage: "memory", policies: "all" });
}

/** Counts the places that a get asks for a key that was written twice and deleted. */
export function placesOfDeletedKey(flushed: boolean): () => Promise<Measured> {
  return async () => {
    const db = await openStore();
    try {
      await db.put("fern", "1");
      await db.flush();
      await db.compactRange();
      await db.put("fern", "2");
      await db.flush();
      await db.delete("fern");
      if (flushed) await db.flush();
      return { value: placesOf((await db.trace("fern")).steps).length };
    } finally {
      await db.close();
    }
  };
}
