import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "terrane-sim": new URL("../target/sim-wasm", import.meta.url).pathname } },
  // A busy machine is slow, not wrong.
  test: { include: ["test/*.test.ts"], testTimeout: 120_000 },
});
