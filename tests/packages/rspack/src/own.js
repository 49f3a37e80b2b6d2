import { open } from "terrane/worker";

self.onmessage = async ({ data }) => {
  const db = await open(data.name);
  self.postMessage(db.get(data.key));
  await db.close();
};
