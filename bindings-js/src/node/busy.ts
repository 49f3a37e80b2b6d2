/** Waiting for a store that another process holds. */

import { BusyError } from "../api/errors.ts";

/** The delay between attempts to open a store that another process holds, in milliseconds: doubled each time. */
const FIRST_DELAY = 10;
const MAX_DELAY = 250;

/** Repeats `body` until it works, fails with another error than a `BusyError`, or `timeout` has passed. */
export async function whileBusy<T>(body: () => Promise<T>, timeout: number): Promise<T> {
  const end = performance.now() + timeout;
  for (let delay = FIRST_DELAY; ; delay = Math.min(2 * delay, MAX_DELAY)) {
    try {
      return await body();
    } catch (error) {
      if (!(error instanceof BusyError) || performance.now() + delay > end) throw error;
    }
    await new Promise((passed) => setTimeout(passed, delay));
  }
}
