/** The module that reads a MANIFEST, which a page loads only for one. */

import moduleUrl from "terrane-foreign/terrane_foreign_bg.wasm?url";

/** Loads and compiles the module. */
export function foreignModule(): Promise<WebAssembly.Module> {
  return WebAssembly.compileStreaming(fetch(moduleUrl));
}
