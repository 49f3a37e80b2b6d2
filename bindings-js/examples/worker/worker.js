// The engine runs in this worker, and calls are synchronous. Workers have no import map: with a
// bundler this is `import { open } from "terrane/worker"`.

import { open } from "../../dist/sync.js";

const db = await open("worker-example");
db.batch([
  { type: "put", key: "a", value: "1" },
  { type: "put", key: "b", value: "2" },
]);
db.put("c", "3", { durability: "sync" });
for (const [key, value] of db.entries({ reverse: true })) postMessage(`${key} ${value}`);
db.close();
postMessage("closed");
