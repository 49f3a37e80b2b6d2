/** One run of one store, in a process of its own: prints its figures as JSON. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STORES } from "./stores.js";
import { measure } from "./workloads.js";

const [name, count, seed, folder, only] = process.argv.slice(2);
const place = mkdtempSync(join(folder || tmpdir(), "terrane-bench-"));
try {
  const store = await STORES[name](join(place, "store"));
  const figures = await measure(store, Number(count), Number(seed), JSON.parse(only));
  await store.close();
  console.log(JSON.stringify(figures));
} finally {
  rmSync(place, { recursive: true, force: true });
}
