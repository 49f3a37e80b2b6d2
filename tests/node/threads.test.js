/** Threads of stores: those of a closed store end, also while JavaScript still has its object. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { bundle, folder, run } from "./folder.js";

const SOURCE = `
import { readdirSync } from "node:fs";
const [addresses, path] = process.argv.slice(1);
const stores = await Promise.all(JSON.parse(addresses).map((address) => import(address)));
const threads = () => readdirSync("/proc/self/task").length;
const kept = [];
const openAll = async (name) => {
  for (const { open } of stores) kept.push(await open(path + "/" + name));
  for (const db of kept.slice(-stores.length)) await db.close();
};
// The first stores start what stays: the threads of Node's own pool.
await openAll("first");
const before = threads();
for (let i = 0; i < 20; i++) await openAll(String(i));
// A thread ends a moment after its store is closed.
while (threads() > before + stores.length) await new Promise((passed) => setTimeout(passed, 50));
console.log(kept.length);
`;

// The limit ends what hangs.
test("closed stores leave no thread", { timeout: 600_000 }, async (context) => {
  try {
    readdirSync("/proc/self/task");
  } catch {
    return context.skip("the system lists no threads");
  }
  const addresses = JSON.stringify(["index.js", "sync.js"].map(bundle));
  assert.equal(await run(SOURCE, addresses, folder()), "42");
});
