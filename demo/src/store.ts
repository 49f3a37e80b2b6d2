/** The page's store, which all panels share. */

import { type Db, destroy, open } from "terrane";
import { presets } from "./presets.ts";
import { showFailure } from "./dom.ts";

const NAME = "demo";
/** Small, so that a load creates many runs. */
const MEMTABLE_BYTES = 1 << 20;

let db: Db | undefined;

/** Opens the store; a new one gets a policy whose tree fits on a screen. */
export async function openStore(): Promise<Db> {
  const opened = await open(NAME, { memtableBytes: MEMTABLE_BYTES, policies: "all" });
  const { lastSequence } = await opened.stats();
  const preset = presets.get("leveled");
  if (lastSequence === 0 && preset !== undefined) await opened.setPolicy(preset.options);
  db = opened;
  return opened;
}

/** Whether the store is open. */
export function isOpen(): boolean {
  return db !== undefined;
}

/** Runs a user's action; if it fails, shows the error. */
export function act(body: (db: Db) => Promise<void>): void {
  if (db === undefined) return;
  showFailure(undefined);
  body(db).catch(showFailure);
}

/** Closes the store and deletes it. */
export async function destroyStore(): Promise<void> {
  await db?.close();
  db = undefined;
  await destroy(NAME);
}
