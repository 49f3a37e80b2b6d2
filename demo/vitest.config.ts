import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

/** The factor by which everything may take longer; `cargo xtask test --stress` sets it. */
const patience = Number(process.env["TERRANE_PATIENCE"] ?? 1);

export default defineConfig({
  plugins: [svelte()],
  resolve: {
    alias: {
      "terrane-sim": new URL("../target/sim-wasm", import.meta.url).pathname,
      "terrane-foreign": new URL("../target/foreign-wasm", import.meta.url).pathname,
    },
  },
  // A busy machine is slow, not wrong.
  test: { include: ["test/*.test.ts"], testTimeout: patience * 120_000 },
});
