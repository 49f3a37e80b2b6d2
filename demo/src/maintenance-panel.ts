/** Checking and deleting the store. */

import type { Db } from "terrane";
import { act } from "./store.ts";
import { element, on, write } from "./dom.ts";
import { plural, time } from "./format.ts";

/** Sets up the panel; `clear` deletes everything. */
export function maintenancePanel(clear: () => Promise<void>): void {
  on("check", "click", () => act(check));
  on("clear", "click", () =>
    act(async () => {
      if (await confirmed()) await clear();
    }),
  );
}

async function check(db: Db): Promise<void> {
  write("maintained", "Checking…");
  const began = performance.now();
  const { tables, walRecords, damage } = await db.check();
  const read = `${plural(tables, "table")} and ${plural(walRecords, "WAL record")} read`;
  const found = damage.map(
    (d) => `${d.file} at byte ${d.offset}: expected ${d.expected}, found ${d.found}`,
  );
  const verdict = found.length === 0 ? "No damage found" : `Damage: ${found.join("; ")}`;
  write("maintained", `${verdict}. ${read} in ${time(performance.now() - began)}.`);
}

async function confirmed(): Promise<boolean> {
  const dialog = element<HTMLDialogElement>("confirm");
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  return dialog.returnValue === "delete";
}
