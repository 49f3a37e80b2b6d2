// An application of Level that moved to terrane by a change of two lines. It takes the folder of its database:
//     node from-level.js FOLDER

import { TerraneLevel } from "terrane-level"; // was: import { Level } from "level";

const db = new TerraneLevel(process.argv[2]); // was: new Level(process.argv[2]);

const notes = db.sublevel("notes", { valueEncoding: "json" });
await notes.batch([
  { type: "put", key: "2026-01", value: { text: "hello" } },
  { type: "put", key: "2026-02", value: { text: "again" } },
]);
for await (const [month, { text }] of notes.iterator({ gte: "2026" })) console.log(month, text);
await db.close();
