/** Opens a store, also by code that is loaded later; inline scripts are not allowed here. */

import { open } from "../terrane/dist/index.js";

async function run() {
  try {
    const db = await open("restricted", { timeout: 100 });
    await db.transact(async (tx) => tx.put("k", (await tx.get("k")) ?? "v"));
    const value = await db.get("k");
    await db.close();
    return value;
  } catch ({ name, message }) {
    return `${name}: ${message}`;
  }
}

window.outcome = run();
