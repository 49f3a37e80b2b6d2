// A store of the page: the engine runs in a worker that `open` starts.

import { open } from "terrane";

const output = document.querySelector("pre");

const db = await open("page-example");
await db.put("2026-01", "first", { durability: "sync" });
await db.batch([
  { type: "put", key: "2026-02", value: "second" },
  { type: "delete", key: "2025-12" },
]);
for await (const [key, value] of db.entries({ gte: "2026", lt: "2027" })) {
  output.append(`${key} ${value}\n`);
}
await db.close();
output.append("closed");
