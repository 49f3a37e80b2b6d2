/** What happens to a page that a store must hear of. A worker hears nothing of it. */

/** Who hears of it. */
export interface PageListener {
  /** The page is put aside: frozen, kept in the back/forward cache, or gone for good. */
  hide(): void;
  /** It is back. */
  show(): void;
  /** It cannot be seen, and may end without a further word. */
  conceal(): void;
}

/** Listens until the returned function is called. */
export function watchPage({ hide, show, conceal }: PageListener): () => void {
  if (typeof document === "undefined") return () => undefined;
  const stop = new AbortController();
  const { signal } = stop;
  addEventListener("pagehide", hide, { signal });
  addEventListener("pageshow", show, { signal });
  document.addEventListener("freeze", hide, { signal });
  document.addEventListener("resume", show, { signal });
  const changed = () => {
    if (document.visibilityState === "hidden") conceal();
  };
  document.addEventListener("visibilitychange", changed, { signal });
  return () => stop.abort();
}
