/** What the pages put on their window. */
interface Window {
  /** pages/store.html: the package. */
  terrane: typeof import("../../bindings-js/dist/index.js");
  failure(
    body: () => unknown,
  ): Promise<{ name: string; code: string; message: string } | undefined>;
  /** The projects of tests/packages: `open`, a worker that reads a key, and what was opened. */
  openStore: typeof import("../../bindings-js/dist/index.js").open;
  own: Worker;
  db: Awaited<ReturnType<typeof import("../../bindings-js/dist/index.js").open>>;
}
