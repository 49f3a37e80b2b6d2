/** What pages/store.html puts on its window. */
interface Window {
  terrane: typeof import("../../bindings-js/dist/index.js");
  failure(
    body: () => unknown,
  ): Promise<{ name: string; code: string; message: string } | undefined>;
}
