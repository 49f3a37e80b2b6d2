import { defineConfig } from "@playwright/test";

/** Those that use the packed package. */
const packages = ["packages.spec.ts", "data-set.spec.ts"];

// One at a time: they share a disk, and a store that must wait for it is slow, not wrong.
export default defineConfig({
  projects: [
    { name: "chromium", testMatch: "*.spec.ts", testIgnore: packages },
    { name: "packages", testMatch: packages },
    {
      name: "firefox",
      testMatch: "*.spec.ts",
      testIgnore: packages,
      use: { browserName: "firefox" },
    },
  ],
  workers: 1,
  timeout: process.env["TERRANE_FULL"] ? 20 * 60_000 : 120_000,
  reporter: "list",
  outputDir: "test-results",
});
