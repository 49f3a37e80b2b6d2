/**
 * Takes the pictures of `docs` again: `npm run pictures`. What each shows is the fragment that the list of them
 * gives, and what is done there besides.
 */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, type Page, test } from "./fixtures.ts";
import { simulated } from "./visualizer.ts";

const LIST = join(import.meta.dirname, "../../docs/visualizer/README.md");
/** A row of the list: the picture's name and file, and its fragment. */
const ROW = /^\| \[([\w-]+)\]\((\S+)\) \|.*\| `(#\S*)` \|$/gm;

/** Steps on the page before the picture is taken. */
const DONE: Record<string, (page: Page) => Promise<void>> = {
  "07-false-positive": async (page) => {
    await page.keyboard.press("r");
    await page.getByRole("button", { name: "one that a filter is wrong about" }).click();
    await page.getByRole("button", { name: "to the end" }).click();
    await expect(page.locator(".reading .sum")).toBeVisible();
  },
  "08-moves": (page) => playUntil(page, 3207),
  "11-spooky-chapter": (page) => expect(page.locator(".question [role=status]")).not.toBeEmpty(),
  "13-first-moment": (page) =>
    expect(page.locator("main:not(.settling) .strata")).toHaveCSS("opacity", "1"),
  "12-table-view": async (page) => {
    const table = page.locator(".tables tbody tr", { hasText: "being merged" }).nth(4);
    await table.getByRole("button").focus();
    await page.keyboard.press("Enter");
  },
};

/** Plays up to a moment, in milliseconds, and has it stay in view: what moves does so only while it plays. */
function playUntil(page: Page, moment: number): Promise<void> {
  return page.evaluate(async (moment) => {
    const frame = window.requestAnimationFrame.bind(window);
    const time = document.querySelector("[role=slider]");
    document.querySelector<HTMLElement>(".play")?.click();
    while (Number(time?.getAttribute("aria-valuenow")) < moment) await new Promise(frame);
    window.requestAnimationFrame = () => 0;
  }, moment);
}

const SIZES: Record<string, { width: number; height: number }> = {
  "03-1024": { width: 1024, height: 768 },
  "04-360": { width: 360, height: 740 },
  preview: { width: 1200, height: 630 },
};

/** Pictures of a part of the page. */
const PARTS: Record<string, string> = { "14-counter-walk": ".steps", "15-pair-rule": ".steps" };

for (const [, name = "", file = "", fragment = ""] of readFileSync(LIST, "utf8").matchAll(ROW)) {
  test(name, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.setViewportSize(SIZES[name] ?? { width: 1440, height: 900 });
    await page.emulateMedia({
      colorScheme: name.endsWith("dark") ? "dark" : "light",
      reducedMotion: name === "12-table-view" ? "reduce" : "no-preference",
    });
    // What a link to the site looks like has no controls.
    const query = name === "preview" ? "?embed" : "";
    await page.goto(`${origin}/demo/${query}${fragment === "#" ? "" : fragment}`);
    if (!fragment.startsWith("#ch=")) {
      await simulated(page);
      await expect(page.locator(".right small", { hasText: "not there yet" })).toHaveCount(0);
    }
    await DONE[name]?.(page);
    const path = join(dirname(LIST), file);
    const part = PARTS[name];
    if (part !== undefined) {
      await page.locator(part).screenshot({ path });
      return;
    }
    await page.screenshot({
      path,
      fullPage: fragment.startsWith("#ch="),
    });
  });
}
