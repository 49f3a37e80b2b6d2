/** Scanning a range, in pages. */

import type { Db, Entry, Trace } from "terrane";
import { act } from "./store.ts";
import { hideTrace, showTrace } from "./trace-view.ts";
import type { TreeView } from "./tree-view.ts";
import { element, on, toggle, write } from "./dom.ts";
import { plural, time } from "./format.ts";

const PAGE_ENTRIES = 100;

type Text = Entry<"utf8", "utf8">;
let scan: AsyncGenerator<Text, void> | undefined;

/** Sets up the panel. */
export function scanPanel(tree: TreeView): void {
  on("scan", "submit", () => act((db) => start(db, tree)));
  on("more", "click", () => act(showPage));
}

/** Ends the scan and removes its entries. */
export async function clearScan(tree: TreeView): Promise<void> {
  await scan?.return();
  scan = undefined;
  write("scanned", "");
  element("entries").replaceChildren();
  toggle("more", false);
  toggle("found", false);
  hideTrace("scan-trace", tree);
}

async function start(db: Db, tree: TreeView): Promise<void> {
  await clearScan(tree);
  const input = (id: string) => element<HTMLInputElement>(id);
  const [from, to] = [input("scan-from").value, input("scan-to").value];
  const bounds = { ...(from !== "" && { gte: from }), ...(to !== "" && { lte: to }) };
  const range = { ...bounds, reverse: input("scan-reverse").checked };
  // Before the scan, which would put its blocks into the cache.
  const trace = await db.traceScan(range);
  showTrace("scan-trace", trace, tree, firstKey(trace));
  scan = db.entries(range);
  await showPage();
}

/** The key of the first entry, if there is one. */
function firstKey({ steps }: Trace): Uint8Array | undefined {
  const last = steps.at(-1);
  return last?.step === "row" ? last.key : undefined;
}

async function showPage(): Promise<void> {
  const began = performance.now();
  const entries: Text[] = [];
  let ended = false;
  while (scan !== undefined && !ended && entries.length < PAGE_ENTRIES) {
    const next = await scan.next();
    if (next.done) ended = true;
    else entries.push(next.value);
  }
  element("entries").append(...entries.map(row));
  const shown = element("entries").childElementCount;
  const taken = time(performance.now() - began);
  write("scanned", shown === 0 ? "No key in this range." : `${plural(shown, "key")}, ${taken}.`);
  toggle("found", shown > 0);
  toggle("more", !ended);
}

function row(entry: Text): HTMLTableRowElement {
  const row = document.createElement("tr");
  for (const text of entry) row.insertCell().textContent = text;
  return row;
}
