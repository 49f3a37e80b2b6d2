/**
 * Watches of a page. The page asks its worker for the next change only once it has taken the last and, unless the
 * watch is one of the change feed, is visible; meanwhile the engine sums up what changes. After the page was
 * suspended, the new worker is asked again.
 */

import type { Changed } from "../codec/protocol.ts";
import { ignoreResult } from "../shared/abort.ts";
import type { HeldWatch } from "../store/port.ts";
import type { Caller } from "./caller.ts";

/** Numbers watches; unique in this page, as scans are. */
let nextWatch = 1;

/** Starts a watch. */
export function openWatch(
  caller: Caller,
  ranges: Uint8Array,
  keys: boolean,
  always: boolean,
): HeldWatch {
  const watch = nextWatch++;
  const { release } = caller.hold({ op: "endWatch", watch });
  const starting = caller.invoke("watch", watch, ranges, keys, false);
  // The first question throws its error.
  ignoreResult(starting);
  const next = async () => {
    await starting;
    for (;;) {
      if (!always) await visible();
      const changed = await caller.call({ op: "watch", watch, ranges, keys });
      if (changed) return changed as Changed;
    }
  };
  return { next, close: release };
}

/** Resolves once the page is visible; at once where there is no page. */
async function visible(): Promise<void> {
  while (globalThis.document?.visibilityState === "hidden") {
    await new Promise((changed) => {
      document.addEventListener("visibilitychange", changed, { once: true });
    });
  }
}
