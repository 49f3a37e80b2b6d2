/** The browser's frames. */

/** Calls `body` in each frame, with its time in milliseconds, until the function that is returned is called. */
export function everyFrame(body: (now: number) => void): () => void {
  let handle = requestAnimationFrame(function frame(now) {
    body(now);
    handle = requestAnimationFrame(frame);
  });
  return () => cancelAnimationFrame(handle);
}
