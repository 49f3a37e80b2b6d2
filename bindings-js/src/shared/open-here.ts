/** The stores on files that are open in this thread. */

import { BusyError } from "../api/errors.ts";
import { notForgotten, onForgotten } from "./finalization.ts";

/** The stores' names, for each opening. */
const names: Set<{ readonly name: string }> = new Set();

/** A store that is open here, until it is closed or collected. */
export class OpenHere {
  readonly #name: { readonly name: string };

  constructor(name: string) {
    const entry = { name };
    this.#name = entry;
    names.add(entry);
    onForgotten(this, () => names.delete(entry));
  }

  /** The store is closed. */
  end(): void {
    names.delete(this.#name);
    notForgotten(this);
  }
}

/** The checks of stores that are open here by other means. */
const checks: ((name: string) => void)[] = [];

/** Adds a check, which throws if this thread has the store open by other means. */
export function addCheck(check: (name: string) => void): void {
  checks.push(check);
}

/** Throws if this thread has the store open: waiting for itself would end with the timeout. */
export function checkNotOpen(name: string): void {
  for (const check of checks) check(name);
  for (const open of names) if (open.name === name) throw openHere(name);
}

/** The error for a store that must not be open, and is so in this page or thread. */
export function openHere(name: string): BusyError {
  return new BusyError(`store "${name}" is open here; close it first`);
}
