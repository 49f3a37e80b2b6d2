/** A service worker with the store "served". */

import { open } from "/terrane/dist/whole.js";

let db;

const calls = {
  open: () => open("served", { timeout: 100 }),
  async follow() {
    db = await open("served", { timeout: 120_000 });
    return db.role;
  },
  get: () => db.get("k"),
  // A page loads this code when it is first used; a service worker cannot.
  transact: () => db.transact(async (tx) => tx.put("tx", await tx.get("k"))),
  stats: async () => (await db.stats()).clients,
  put: async () => typeof (await db.put("sw", "v")),
};

addEventListener("install", () => skipWaiting());

addEventListener("message", ({ data, ports: [port] }) => {
  calls[data]().then(
    (value) => port.postMessage(value),
    ({ code, message }) => port.postMessage({ code, message }),
  );
});
