/** Abortable waits. */

import { AbortError, TerraneError } from "../api/errors.ts";

/** The error of a call whose signal was aborted. */
export function abortError(signal: AbortSignal): TerraneError {
  if (signal.reason instanceof TerraneError) return signal.reason;
  return new AbortError("the call was aborted by its signal", { cause: signal.reason });
}

/** Awaits what `start` returns, unless the signal is aborted first. */
export function abortable<T>(signal: AbortSignal | undefined, start: () => Promise<T>): Promise<T> {
  if (signal === undefined) return start();
  return new Promise((resolve, reject) => {
    const abort = () => reject(abortError(signal));
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    start()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Ignores the outcome of a call: where it fails, a later call fails for the same reason. */
export function ignoreResult(called: Promise<unknown>): void {
  called.catch(() => undefined);
}
