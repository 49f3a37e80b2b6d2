/** Delays. */

/** Resolves after that many milliseconds, or as soon as the signal is aborted. */
export function delay(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((passed) => {
    const timer = setTimeout(passed, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      passed();
    });
  });
}
