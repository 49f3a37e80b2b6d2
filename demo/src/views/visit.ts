/** Memory of a visit, for as long as its tab is open: whether the visitor has asked for all controls. */

const NAME = "terrane all controls";

/** Whether all controls were asked for in this tab. */
export function knowsControls(): boolean {
  try {
    return sessionStorage.getItem(NAME) !== null;
  } catch {
    return false;
  }
}

/** Remembers that all controls were asked for. */
export function rememberControls(): void {
  try {
    sessionStorage.setItem(NAME, "");
  } catch {
    // Storage is blocked: the next page starts as the first one did.
  }
}
