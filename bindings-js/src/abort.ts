/** Waiting that a signal ends. */

import { AbortError, TerraneError } from "./errors.ts";

/** Options of a call that waits. */
export interface WaitOptions {
  /**
   * Ends the wait with an `AbortError`. What was requested by then may still take effect; a
   * call whose signal was aborted before sends nothing.
   */
  signal?: AbortSignal | undefined;
}

/** The error of a call whose signal was aborted. */
export function aborted(signal: AbortSignal): TerraneError {
  if (signal.reason instanceof TerraneError) return signal.reason;
  return new AbortError("the call was aborted by its signal", { cause: signal.reason });
}

/** What `begin` promises, unless the signal comes first. */
export function abortable<T>(signal: AbortSignal | undefined, begin: () => Promise<T>): Promise<T> {
  if (signal === undefined) return begin();
  return new Promise((resolve, reject) => {
    const stop = () => reject(aborted(signal));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    begin()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}
