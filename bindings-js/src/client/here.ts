/** Checks that this page or worker can have a store. */

import { later } from "#load";

/** Fails, with the reason, where there are no private files. */
export async function checkFiles(): Promise<void> {
  const { isSecureContext, navigator, origin } = globalThis;
  const mayHave = isSecureContext && origin !== "null" && navigator.locks !== undefined;
  if (mayHave && typeof navigator.storage?.getDirectory === "function") return;
  (await later()).checkPrivateFiles();
}

/** Fails, with the reason, where no worker can open a store; `worker` starts one, if it is given. */
export async function checkHere(
  storage: "opfs" | "memory",
  worker: (() => Worker) | undefined,
): Promise<void> {
  if (storage === "opfs") await checkFiles();
  if (worker === undefined && typeof Worker === "undefined") {
    throw (await later()).unavailable("no worker can be started");
  }
}
