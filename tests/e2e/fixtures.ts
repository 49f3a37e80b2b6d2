/**
 * A browser with a profile on disk: a context without one keeps its private files in memory, where a
 * sync does nothing. Starting it takes longer than most tests, so all tests share one. It is the origin
 * that each test has to itself, and with it storage, locks and channels that no other test sees.
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
import { patient } from "./patience.ts";
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
        // A page that is driven remembers a stack for each promise, which no visitor's page does.
        "javascript.options.asyncstack": false,
        "dom.storageManager.prompt.testing": true,
        "dom.storageManager.prompt.testing.allow": true,
      },
    },
  },
};

/** Whether the long runs were asked for. */
export const full = Boolean(process.env["TERRANE_FULL"]);

/**
 * How often a test that clears its origin's storage is tried again, in another browser, as after every
 * failure. When files were open, some Chromiums create no file on that origin for minutes:
 * `getDirectoryHandle` with `create` rejects with an InvalidStateError, whoever calls it.
 */
export const CLEARING_RETRIES = 3;

interface Fixtures {
  /** An origin on which nothing is stored yet. */
  origin: string;
  /** The folder of the test's own profile, which outlives its browser. */
  profile: string;
  /** Starts a browser on that profile. */
  launch: () => Promise<BrowserContext>;
  context: BrowserContext;
  /** Opens the page that has the package as `window.terrane`. */
  storePage: () => Promise<Page>;
  /** Chromium's debugging protocol, of a page; a test that asks for it is skipped elsewhere. */
  protocol: (page: Page) => Promise<CDPSession>;
}

interface WorkerFixtures {
  port: number;
  /** The browser that tests share. */
  shared: () => Promise<BrowserContext>;
}

async function withProfile(use: (profile: string) => Promise<void>): Promise<void> {
  const profile = mkdtempSync(join(tmpdir(), "terrane-profile-"));
  await use(profile);
  rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
}

function launch(browserName: string, profile: string): Promise<BrowserContext> {
  if (browserName !== "chromium" && browserName !== "firefox") throw new Error(browserName);
  const { type, options } = launches[browserName];
  return type.launchPersistentContext(profile, { ...options, timeout: patient(180_000) });
}

let origins = 0;

/** A new tab with the package as `window.terrane`; `under` is where the server has it. */
export async function openStorePage(
  context: BrowserContext,
  origin: string,
  under = "",
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}${under}/pages/store.html`);
  await page.waitForFunction(() => "terrane" in window);
  return page;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  port: [
    async ({}, use) => {
      const { server, port } = await serve();
      await use(port);
      server.closeAllConnections();
      server.close();
    },
    { scope: "worker" },
  ],

  shared: [
    ({ browserName }, use) =>
      withProfile(async (profile) => {
        let context: Promise<BrowserContext> | undefined;
        await use(() => (context ??= launch(browserName, profile)));
        await (await context)?.close();
      }),
    { scope: "worker" },
  ],

  // Browsers resolve every name below localhost to this machine, and trust it.
  origin: async ({ port }, use) => {
    origins += 1;
    await use(`http://test${origins}.localhost:${port}`);
  },

  profile: ({}, use) => withProfile(use),

  launch: ({ browserName, profile }, use) => use(() => launch(browserName, profile)),

  context: async ({ shared }, use) => {
    const context = await shared();
    const before = new Set(context.pages());
    await use(context);
    await context.unrouteAll();
    const opened = context.pages().filter((page) => !before.has(page));
    await Promise.all(opened.map((page) => page.close()));
  },

  storePage: async ({ context, origin }, use) => {
    await use(() => openStorePage(context, origin));
  },

  protocol: async ({ browserName, context }, use) => {
    test.skip(browserName !== "chromium", "only Chromium has this debugging protocol");
    await use((page) => context.newCDPSession(page));
  },
});

export { expect, type Locator, type Page } from "@playwright/test";
