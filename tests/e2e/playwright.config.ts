import { defineConfig } from "@playwright/test";

// Every test has a browser of its own with a profile on disk. One at a time: they share a disk, and
// a store that must wait for it is slow, not wrong.
export default defineConfig({
  testMatch: "*.spec.ts",
  workers: 1,
  timeout: process.env["TERRANE_FULL"] ? 20 * 60_000 : 120_000,
  reporter: "list",
  outputDir: "test-results",
});
