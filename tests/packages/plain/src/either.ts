import type { DbOf, Encoding, Mode } from "terrane";

/** Works with a page's store and with one of a worker. */
export async function total<M extends Mode>(db: DbOf<M, Encoding, Encoding>): Promise<number> {
  await db.put("a", "1", { durability: "sync" });
  if (!(await db.has("a")) || (await db.first())?.[0] === undefined) return 0;
  return await db.count({ gte: "a" });
}
