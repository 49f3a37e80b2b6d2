/**
 * A browser for each test, with a profile on disk: a context without one keeps its private files in
 * memory, where a sync does nothing.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, test as base, chromium, type Page } from "@playwright/test";
import { serve } from "./server.ts";

const system = [process.env["TERRANE_CHROMIUM"], "/usr/bin/chromium"];
const executablePath = system.find((path) => path !== undefined && existsSync(path));

const args = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Whether the long runs were asked for. */
export const full = Boolean(process.env["TERRANE_FULL"]);

interface Fixtures {
  context: BrowserContext;
  /** Opens the page that has the package as `window.terrane`. */
  storePage: () => Promise<Page>;
}

export const test = base.extend<Fixtures, { origin: string }>({
  origin: [
    async ({}, use) => {
      const { server, origin } = await serve();
      await use(origin);
      server.closeAllConnections();
      server.close();
    },
    { scope: "worker" },
  ],

  context: async ({}, use) => {
    const profile = mkdtempSync(join(tmpdir(), "terrane-profile-"));
    // Visitors have the back/forward cache, which Playwright would switch off.
    const ignoreDefaultArgs = ["--disable-back-forward-cache"];
    const launch = { args, ignoreDefaultArgs, ...(executablePath && { executablePath }) };
    const context = await chromium.launchPersistentContext(profile, launch);
    await use(context);
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  },

  storePage: async ({ context, origin }, use) => {
    await use(async () => {
      const page = await context.newPage();
      await page.goto(`${origin}/pages/store.html`);
      await page.waitForFunction(() => "terrane" in window);
      return page;
    });
  },
});

export { expect, type Page } from "@playwright/test";
