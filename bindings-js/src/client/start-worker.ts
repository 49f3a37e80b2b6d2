/**
 * Starting the store's worker: `worker.js`, or `threads.js` where the engine has threads. Both are beside
 * the client's script.
 */

import { check } from "../codec/validate.ts";
import { canLead } from "./election.ts";
import { later } from "./load.ts";

/** Returns a function that starts the worker of an engine with threads or without: the one that is given, if any. */
export async function starting(
  threads: boolean,
  given: (() => Worker) | undefined,
): Promise<() => Worker> {
  if (given !== undefined) return check("worker", given, typeof given === "function", "a function");
  const here = import.meta.url;
  // A sandboxed frame has no origin, whatever its address says.
  if (here.startsWith("http") && new URL(here).origin !== globalThis.origin && canLead()) {
    const { startElsewhere } = await later();
    return () => startElsewhere(new URL(threads ? "threads.js" : "worker.js", here));
  }
  // Bundlers look for exactly these expressions; in the package the client is one file beside the workers.
  return threads
    ? () => new Worker(new URL("./threads.js", import.meta.url), { type: "module" })
    : () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}
