import { open } from "../node_modules/terrane/dist/sync.js";

self.onmessage = async ({ data }) => {
  const db = await open(data.name);
  self.postMessage(db.get(data.key));
  await db.close();
};
