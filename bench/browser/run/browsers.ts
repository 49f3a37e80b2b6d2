/** The browsers that a comparison can be made in. */

import { existsSync } from "node:fs";
import { type BrowserContext, chromium, firefox } from "playwright-core";

const BROWSERS: Record<string, (profile: string) => Promise<BrowserContext>> = {
  chromium: (profile) =>
    chromium.launchPersistentContext(profile, {
      ...at("TERRANE_CHROMIUM", "/usr/bin/chromium"),
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
    }),
  // Over WebDriver BiDi, which needs no Firefox of Playwright's own.
  firefox: (profile) =>
    firefox.launchPersistentContext(profile, {
      ...at("TERRANE_FIREFOX", "/usr/bin/firefox-esr"),
      channel: "moz-firefox",
      // A visitor who is asked whether storage may persist says yes.
      firefoxUserPrefs: {
        // A page that is driven remembers a stack for each promise, which no visitor's page does.
        "javascript.options.asyncstack": false,
        "dom.storageManager.prompt.testing": true,
        "dom.storageManager.prompt.testing.allow": true,
      },
    }),
};

/** Starts a browser with a profile on disk. */
export function launch(browser: string, profile: string): Promise<BrowserContext> {
  const start = BROWSERS[browser];
  if (start === undefined) {
    throw new Error(`--browser: expected one of ${Object.keys(BROWSERS)}, found ${browser}`);
  }
  return start(profile);
}

/** The executable that `cargo xtask` named, or Debian's; else what Playwright has. */
function at(variable: string, debian: string): { executablePath?: string } {
  const path = [process.env[variable], debian].find(
    (path) => path !== undefined && existsSync(path),
  );
  return path === undefined ? {} : { executablePath: path };
}
