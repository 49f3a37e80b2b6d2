/** The stores on files that are open in this thread. */

import { BusyError } from "../api/errors.ts";

/** An entry for each opening. */
export const openHere: Set<{ readonly name: string }> = new Set();

/** Throws if this thread has the store open: waiting for itself would end with the timeout. */
export function checkNotOpen(name: string): void {
  for (const open of openHere) {
    if (open.name === name) throw new BusyError(`store "${name}" is open here; close it first`);
  }
}
