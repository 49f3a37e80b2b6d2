import { defineConfig } from "vitest/config";
import { PATIENCE } from "./patience.ts";

export default defineConfig({
  test: {
    include: ["*.test.ts"],
    globalSetup: "./build.ts",
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    expect: { poll: { timeout: PATIENCE } },
  },
});
