/** Delays. */

/** Resolves after `milliseconds`, or as soon as the signal is aborted. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((passed) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      passed();
    };
    const timer = setTimeout(end, signal?.aborted ? 0 : milliseconds);
    signal?.addEventListener("abort", end);
  });
}
