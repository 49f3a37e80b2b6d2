/** Pages with `terrane-level`, bundled with what its suite and its benchmark need. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "@playwright/test";
import { run } from "./packed.ts";

const level = fileURLToPath(new URL("../../bindings-js/level", import.meta.url));

/** Functions of the page, which the bundle sets. */
declare const load: (code: string) => Promise<void>;

/** Bundles a file of `bindings-js/level/test`; a page has the store's package by its import map. */
function bundled(entry: string): string {
  const folder = mkdtempSync(join(tmpdir(), "terrane-level-"));
  try {
    const file = join(folder, "bundle.js");
    const options = ["--bundle", "--format=esm", "--external:terrane", "--log-level=warning"];
    options.push("--alias:path=path-browserify", "--alias:stream=stream-browserify");
    run(level, "../node_modules/.bin/esbuild", `test/${entry}`, `--outfile=${file}`, ...options);
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Opens pages with that bundle. */
export function levelPages(
  context: BrowserContext,
  origin: string,
  entry: string,
): () => Promise<Page> {
  const code = bundled(entry);
  return async () => {
    const page = await context.newPage();
    await page.goto(`${origin}/pages/level.html`);
    await page.waitForFunction(() => "load" in window);
    await page.evaluate((code) => load(code), code);
    return page;
  };
}
