/** Errors in words. */

/** Returns the message of what was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits for `work`; returns the message of its failure, or no text. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "";
  } catch (error) {
    return messageOf(error);
  }
}
