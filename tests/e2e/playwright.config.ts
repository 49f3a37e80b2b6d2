import { defineConfig } from "@playwright/test";
import { patient } from "./patience.ts";

/** Those that use the packed package. */
const packages = ["packages.spec.ts", "data-set.spec.ts"];

/**
 * Specs of what does not depend on the browser beyond what the other specs cover: they run in Firefox only with
 * TERRANE_FULL.
 */
const onceIsEnough = [
  "examples.spec.ts",
  "level.spec.ts",
  "policies.spec.ts",
  "visualizer.spec.ts",
  "visualizer-attach.spec.ts",
  "visualizer-chapters.spec.ts",
  "visualizer-compare.spec.ts",
  "visualizer-crash.spec.ts",
  "visualizer-files.spec.ts",
  "visualizer-first.spec.ts",
  "visualizer-import.spec.ts",
  "visualizer-papers.spec.ts",
  "visualizer-places.spec.ts",
  "visualizer-policies.spec.ts",
  "visualizer-store.spec.ts",
  "visualizer-writes.spec.ts",
];

const visualizer = "visualizer*.spec.ts";

/** Folder of failed tests' traces, and screenshots of their pages. */
const kept = "../../target/e2e";

// One at a time: they share a disk, and a store that must wait for it is slow, not wrong. Projects may
// run side by side, each with a folder of its own, on a machine that is busy besides: a limit ends what
// hangs, and is minutes above what takes long.
export default defineConfig({
  projects: [
    {
      name: "chromium",
      testMatch: "*.spec.ts",
      testIgnore: [...packages, visualizer],
      outputDir: `${kept}/chromium`,
    },
    { name: "visualizer", testMatch: visualizer, outputDir: `${kept}/visualizer` },
    // These measure, and so are no part of the tests.
    { name: "frames", testMatch: "frames.bench.ts" },
    // Writes the pictures of the documentation.
    { name: "pictures", testMatch: "pictures.ts" },
    { name: "first-view", testMatch: "first-view.bench.ts" },
    { name: "in-memory", testMatch: "in-memory.bench.ts" },
    { name: "listening", testMatch: "listening.bench.ts" },
    { name: "watching", testMatch: "watching.bench.ts" },
    { name: "sharing", testMatch: "sharing.bench.ts" },
    { name: "level", testMatch: "level.bench.ts" },
    { name: "level-firefox", testMatch: "level.bench.ts", use: { browserName: "firefox" } },
    { name: "load", testMatch: "load.bench.ts" },
    { name: "load-firefox", testMatch: "load.bench.ts", use: { browserName: "firefox" } },
    { name: "owner", testMatch: "owner.bench.ts" },
    { name: "owner-firefox", testMatch: "owner.bench.ts", use: { browserName: "firefox" } },
    { name: "round-trip", testMatch: "round-trip.bench.ts" },
    {
      name: "round-trip-firefox",
      testMatch: "round-trip.bench.ts",
      use: { browserName: "firefox" },
    },
    { name: "papers", testMatch: "papers.bench.ts" },
    { name: "papers-firefox", testMatch: "papers.bench.ts", use: { browserName: "firefox" } },
    { name: "packages", testMatch: packages, outputDir: `${kept}/packages` },
    {
      name: "firefox",
      testMatch: "*.spec.ts",
      testIgnore: process.env["TERRANE_FULL"] ? packages : [...packages, ...onceIsEnough],
      outputDir: `${kept}/firefox`,
      use: { browserName: "firefox" },
    },
    // Not driven by Playwright.
    { name: "webkit", testMatch: "webkit.test.ts" },
  ],
  workers: 1,
  timeout: patient(process.env["TERRANE_FULL"] ? 20 * 60_000 : 360_000),
  expect: { timeout: patient(120_000) },
  reporter: [["list"], ["./failed.ts"]],
  use: { trace: "retain-on-failure", screenshot: "only-on-failure" },
});
