/** The lifecycle events of a page that matter to a store. A worker receives none. */

/** A listener to them. */
export interface PageListener {
  /** The page is suspended: frozen, in the back/forward cache, or being unloaded. */
  suspend(): void;
  /** The page is active again. */
  resume(): void;
  /** The page is hidden, and may be discarded without another event. */
  hidden(): void;
  /** The page is visible. */
  visible(): void;
}

/** Listens to them; the returned function stops that. */
export function watchPage({ suspend, resume, hidden, visible }: PageListener): () => void {
  if (typeof document === "undefined") return () => undefined;
  const stop = new AbortController();
  const { signal } = stop;
  addEventListener("pagehide", suspend, { signal });
  addEventListener("pageshow", resume, { signal });
  document.addEventListener("freeze", suspend, { signal });
  document.addEventListener("resume", resume, { signal });
  const changed = () => {
    if (document.visibilityState === "hidden") hidden();
    else visible();
  };
  document.addEventListener("visibilitychange", changed, { signal });
  return () => stop.abort();
}
