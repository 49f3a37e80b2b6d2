/**
 * A browser for each test, with a profile on disk: a context without one keeps its private files in
 * memory, where a sync does nothing.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BrowserContext,
  type CDPSession,
  test as base,
  chromium,
  firefox,
  type Page,
} from "@playwright/test";
import { serve } from "./server.ts";

/** The executable that `cargo xtask` named, or Debian's; else what Playwright has. */
function at(variable: string, debian: string): { executablePath?: string } {
  const path = [process.env[variable], debian].find(
    (path) => path !== undefined && existsSync(path),
  );
  return path === undefined ? {} : { executablePath: path };
}

const launches = {
  chromium: {
    type: chromium,
    options: {
      ...at("TERRANE_CHROMIUM", "/usr/bin/chromium"),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
      // Visitors have the back/forward cache, which Playwright would switch off.
      ignoreDefaultArgs: ["--disable-back-forward-cache"],
    },
  },
  // Over WebDriver BiDi, which needs no Firefox of Playwright's own.
  firefox: {
    type: firefox,
    options: {
      ...at("TERRANE_FIREFOX", "/usr/bin/firefox-esr"),
      channel: "moz-firefox",
      // A visitor who is asked whether storage may persist says yes.
      firefoxUserPrefs: {
        "dom.storageManager.prompt.testing": true,
        "dom.storageManager.prompt.testing.allow": true,
      },
    },
  },
};

/** Whether the long runs were asked for. */
export const full = Boolean(process.env["TERRANE_FULL"]);

interface Fixtures {
  /** The folder of the profile, which outlives the browser. */
  profile: string;
  /** Starts the browser on that profile. */
  launch: () => Promise<BrowserContext>;
  context: BrowserContext;
  /** Opens the page that has the package as `window.terrane`. */
  storePage: () => Promise<Page>;
  /** Chromium's debugging protocol, of a page; a test that asks for it is skipped elsewhere. */
  protocol: (page: Page) => Promise<CDPSession>;
}

/** A new tab with the package as `window.terrane`. */
export async function openStorePage(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}/pages/store.html`);
  await page.waitForFunction(() => "terrane" in window);
  return page;
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

  profile: async ({}, use) => {
    const profile = mkdtempSync(join(tmpdir(), "terrane-profile-"));
    await use(profile);
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  },

  launch: async ({ browserName, profile }, use) => {
    if (browserName === "webkit") throw new Error("no WebKit is driven here");
    const { type, options } = launches[browserName];
    await use(() => type.launchPersistentContext(profile, options));
  },

  context: async ({ launch }, use) => {
    const context = await launch();
    await use(context);
    await context.close();
  },

  storePage: async ({ context, origin }, use) => {
    await use(() => openStorePage(context, origin));
  },

  protocol: async ({ browserName, context }, use) => {
    test.skip(browserName !== "chromium", "only Chromium has this debugging protocol");
    await use((page) => context.newCDPSession(page));
  },
});

export { expect, type Page } from "@playwright/test";
