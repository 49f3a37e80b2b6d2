import { type Db, open } from "terrane";
import { total } from "./either.js";

export async function last(name: string): Promise<string | undefined> {
  const db: Db = await open(name);
  for await (const [, value] of db.entries({ reverse: true, limit: 1 })) return value;
  if ((await total(db)) === 0) return undefined;
  return db.get("none");
}
