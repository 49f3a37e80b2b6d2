/** The outcome of a call that may throw. */

import { encodeError } from "../codec/thrown.ts";
import type { Outcome } from "../codec/protocol.ts";

/** Returns the value of `body`, or the error that it throws. */
export function attempt(body: () => unknown): Outcome {
  try {
    return { value: body() };
  } catch (error) {
    return { error: encodeError(error) };
  }
}
