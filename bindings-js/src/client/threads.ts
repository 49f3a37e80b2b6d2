/** Whether a page's store has threads, and how many. */

import type { StoreOptions } from "../api/options.ts";
import type { ThreadStats } from "../api/stats.ts";
import { toThreads } from "../codec/requests.ts";

/** The most merges at once where nobody says how many: more take more memory than they save time. */
const AUTOMATIC_MAX = 4;

/** Returns the number of merges that may run at once on workers of an isolated page, and the reason. */
export function chooseThreads(
  options: Pick<StoreOptions, "threads" | "wasm"> & { worker?: unknown },
): ThreadStats {
  const wanted = toThreads(options.threads);
  const none = (reason: string) => ({ count: 0, reason });
  if (wanted === 0) return none("the option threads is false or 0");
  if (options.worker !== undefined) return none("the option worker is set");
  if (options.wasm !== undefined) return none("the option wasm is set");
  if (typeof Atomics.waitAsync !== "function") return none("the browser has no Atomics.waitAsync");
  if (wanted !== undefined) return { count: wanted, reason: "the option threads is set" };
  if (navigator.userAgent.includes("Firefox/")) {
    return none("Firefox sometimes hangs while it starts threads: set the option to a number");
  }
  const processors = navigator.hardwareConcurrency || 1;
  const count = Math.min(processors - 1, AUTOMATIC_MAX);
  const plural = processors === 1 ? "processor" : "processors";
  return { count, reason: `the machine has ${processors} ${plural}` };
}
