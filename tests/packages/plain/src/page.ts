import { type Db, open } from "terrane";

export async function last(name: string): Promise<string | undefined> {
  const db: Db = await open(name);
  for await (const [, value] of db.entries({ reverse: true, limit: 1 })) return value;
  return db.get("none");
}
