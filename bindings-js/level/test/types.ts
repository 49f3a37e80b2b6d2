/** Calls that the types accept; this is compiled, and never run. */

import { TerraneLevel } from "../index.js";

const db = new TerraneLevel<string, { text: string }>("notes", {
  valueEncoding: "json",
  cacheBytes: 1 << 20,
  policy: { policy: "leveled" },
});
await db.put("a", { text: "hello" }, { sync: true });
await db.del("a", { sync: true });
await db.batch([{ type: "put", key: "a", value: { text: "hello" } }], { sync: true });
await db.batch().put("a", { text: "hello" }).del("b").write({ sync: true });
await db.batch().del("b").write();
await db.clear();
await db.clear({ gte: "a", sync: true });
const { text } = (await db.get("a")) ?? { text: "" };
const drafts = db.sublevel<string, string>("drafts", { valueEncoding: "utf8" });
await drafts.put("a", text);
for await (const [key, value] of drafts.iterator({ gte: "a" })) key.concat(value);
const size: number = await db.approximateSize("a", "z");
await db.compactRange("a", "z");
await TerraneLevel.destroy(db.location.slice(0, size));

// @ts-expect-error - a durability is none of Level's options
await db.put("a", { text: "hello" }, { durability: "sync" });
// @ts-expect-error - nor is a number a policy
new TerraneLevel("notes", { policy: 7 });
