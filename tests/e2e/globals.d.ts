/** What the pages put on their window. */
interface Window {
  /** The package: of pages/store.html, and of the projects of tests/packages. */
  terrane: typeof import("../../bindings-js/dist/client/index.js");
  failure(
    body: () => unknown,
  ): Promise<{ name: string; code: string; message: string } | undefined>;
  /** The projects of tests/packages: a worker that reads a key. */
  own: Worker;
  /** Of frames.bench.ts: milliseconds of each frame's callback. */
  frameCosts: number[];
  /** What was opened. */
  db: import("../../bindings-js/dist/client/index.js").Db;
}
