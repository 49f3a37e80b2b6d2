// A hook for React: the result of a query, which follows what the query has read.
//
//   const open = (reader) => reader.count({ prefix: "open/" });
//   function Open({ db }) {
//     const count = useLive(db, open);
//     return <p>{count ?? "…"}</p>;
//   }
//
// Define the query outside of the component, or keep it with useCallback: another function is another query.

import { useCallback, useMemo, useSyncExternalStore } from "react";

export function useLive(db, query) {
  // The result belongs to this query: that of another query is not shown meanwhile.
  const result = useMemo(() => ({ current: undefined }), [db, query]);
  const subscribe = useCallback(
    (changed) => {
      const aborter = new AbortController();
      const { signal } = aborter;
      const follow = async () => {
        for await (const next of db.live(query, { signal })) {
          result.current = { next };
          changed();
        }
      };
      follow().catch((error) => {
        // The component has gone.
        if (signal.aborted) return;
        result.current = { error };
        changed();
      });
      return () => aborter.abort();
    },
    [db, query, result],
  );
  const current = useSyncExternalStore(
    subscribe,
    () => result.current,
    () => undefined,
  );
  // For the nearest error boundary.
  if (current?.error) throw current.error;
  return current?.next;
}
