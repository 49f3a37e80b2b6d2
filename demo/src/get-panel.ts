/** Looking up a key, with a trace of the read. */

import type { Db } from "terrane";
import { act } from "./store.ts";
import { hideTrace, showTrace } from "./trace-view.ts";
import type { TreeView } from "./tree-view.ts";
import { element, on } from "./dom.ts";
import { time } from "./format.ts";

/** Sets up the panel. */
export function getPanel(tree: TreeView): void {
  on("get", "submit", () => act((db) => look(db, tree)));
}

async function look(db: Db, tree: TreeView): Promise<void> {
  const key = element<HTMLInputElement>("get-key").value;
  // Before the get, which would put its block into the cache.
  const trace = await db.trace(key);
  const began = performance.now();
  const value = await db.get(key);
  const taken = time(performance.now() - began);
  showTrace("get-trace", trace, tree, new TextEncoder().encode(key));
  const output = element("value");
  output.dataset.found = String(value !== undefined);
  output.textContent = value ?? `No such key (${taken}).`;
  output.title = taken;
}

/** Removes the result. */
export function clearGet(tree: TreeView): void {
  hideTrace("get-trace", tree);
  element("value").textContent = "";
}
