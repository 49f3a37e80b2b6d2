import { defineConfig } from "vitest/config";

/** How many times longer everything may take: `cargo xtask test --stress` sets it. */
const patience = Number(process.env["TERRANE_PATIENCE"] ?? 1);

export default defineConfig({
  resolve: { alias: { "terrane-sim": new URL("../target/sim-wasm", import.meta.url).pathname } },
  // A busy machine is slow, not wrong.
  test: { include: ["test/*.test.ts"], testTimeout: patience * 120_000 },
});
