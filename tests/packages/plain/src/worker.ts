import { open } from "terrane/worker";
import { total } from "./either.js";

export async function bytes(name: string): Promise<number> {
  const db = await open(name, { valueEncoding: "binary" });
  let bytes = 0;
  for (const value of db.values()) bytes += value.length;
  return bytes / (await total(db));
}
