import { open } from "terrane/worker";

export async function bytes(name: string): Promise<number> {
  const db = await open(name, { valueEncoding: "binary" });
  let total = 0;
  for (const value of db.values()) total += value.length;
  return total;
}
