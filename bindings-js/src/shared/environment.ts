/** Features of the browser. */

import { UnavailableError } from "../api/errors.ts";

/** Throws, with the reason, where there is no private file system. */
export function checkPrivateFiles(): void {
  if (typeof isSecureContext === "undefined") {
    throw unavailable("this is no page of a browser; in Node, terrane-node has stores on files");
  }
  if (globalThis.origin === "null") {
    throw unavailable("the page has no origin, as in a sandboxed frame or from a file");
  }
  if (!isSecureContext) throw unavailable("the page was not loaded over HTTPS");
  if (typeof navigator.storage?.getDirectory !== "function") {
    throw unavailable("the browser has no origin private file system");
  }
  if (navigator.locks === undefined) throw unavailable("the browser has no Web Locks");
}

/** The error where no store can be opened. */
export function unavailable(why: string): UnavailableError {
  return new UnavailableError(`no store can be opened here: ${why}`);
}
