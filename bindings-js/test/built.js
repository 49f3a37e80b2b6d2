/**
 * The package under test: that of browsers or, if the variable `TERRANE_ADDON` is set, `terrane-node`, of which the
 * same is expected. The addon has all policies.
 */

import { readFileSync } from "node:fs";

/** Whether the addon is under test. */
export const native = process.env.TERRANE_ADDON !== undefined;

/** The address of a bundle of the package. */
export const bundle = (name) => new URL(`../${native ? "node/" : ""}dist/${name}`, import.meta.url);

const build = (file) =>
  native ? {} : { wasm: new WebAssembly.Module(readFileSync(bundle(file))) };

/** Options for the small build of the module. */
export const LEAN = build("terrane_bg.wasm");

/** Options for the build with all policies. */
export const ALL = { ...build("terrane_all_bg.wasm"), policies: "all" };
