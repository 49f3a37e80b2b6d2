/** The option `wasm`. */

import type { StoreOptions } from "../api/options.ts";
import { invalid, isTagged } from "./validate.ts";

/** Returns the module, or its absolute URL. */
export function toModule(wasm: StoreOptions["wasm"]): string | WebAssembly.Module | undefined {
  if (wasm === undefined || isTagged<WebAssembly.Module>(wasm, "WebAssembly.Module")) return wasm;
  try {
    if (typeof wasm === "string" || isTagged(wasm, "URL")) {
      return new URL(wasm, globalThis.location?.href).href;
    }
  } catch {
    // Reported below.
  }
  throw invalid("wasm", "a URL or a WebAssembly.Module", wasm);
}
