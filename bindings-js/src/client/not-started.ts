/** Workers whose script did not start. */

import type { UnavailableError } from "../api/errors.ts";
import { notLoaded } from "../shared/not-loaded.ts";

/** Returns the error for a worker that `start` started and that failed with `event` before its first message. */
export async function notStarted(
  start: () => Worker,
  { error, filename, message }: ErrorEvent,
): Promise<UnavailableError> {
  // An error of the script itself says where; a script that was not found or refused says nothing.
  const why = message ? [filename, message] : await whyRefused(scriptOf(start));
  return notLoaded("the store's worker", why.filter(Boolean).join(": "), error);
}

/** Returns the address of the script that `start` starts, without starting it; undefined if it starts none. */
function scriptOf(start: () => Worker): string | undefined {
  const { Worker } = globalThis;
  let script: string | undefined;
  class Unstarted extends EventTarget {
    constructor(url: string | URL) {
      super();
      script = new URL(url, location.href).href;
    }
    postMessage(): void {}
    terminate(): void {}
  }
  try {
    Object.assign(globalThis, { Worker: Unstarted });
    start();
  } catch {
    // The address, if there is one, is known by then.
  } finally {
    Object.assign(globalThis, { Worker });
  }
  return script;
}

/** Returns the address of a script that did not start, and the reason: what a server returns for it. */
async function whyRefused(script: string | undefined): Promise<string[]> {
  if (script === undefined) return ["the browser gives no reason"];
  try {
    const { headers, ok, status, statusText } = await fetch(script);
    const type = headers.get("content-type") ?? "no content type";
    const isScript = ok && type.includes("javascript");
    if (isScript) return [script, "the browser refused it, as a content security policy demands"];
    return [script, `expected a script, found ${ok ? type : `${status} ${statusText}`}`];
  } catch (cause) {
    return [script, String(cause)];
  }
}
