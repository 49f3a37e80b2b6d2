/** The visualizer's page, as tests of it use it. */

import type { BrowserContext, Locator } from "@playwright/test";
import { expect, type Page } from "./fixtures.ts";

/** A recording that is simulated in a moment. */
const SMALL = "load=40000&operations=60000";

/** Opens the visualizer with a small recording, or as a new visitor. */
export async function open(page: Page, origin: string, fragment: string): Promise<void> {
  await page.goto(`${origin}/demo/${fragment === "" ? "" : `#v1&${SMALL}&${fragment}`}`);
  await expect(page.locator(".transport")).toContainText("decision");
}

/** Waits until the whole recording is there. */
export async function simulated(page: Page): Promise<void> {
  await expect(page.locator(".transport")).not.toContainText("% done");
  await expect(page.locator(".transport")).not.toContainText("of 0.00");
}

/** A new page with a small recording, once all of it is there. */
export async function openSimulated(
  context: BrowserContext,
  origin: string,
  fragment: string,
): Promise<Page> {
  const page = await context.newPage();
  await open(page, origin, fragment);
  await simulated(page);
  return page;
}

/** The moment that is shown. */
export const clock = (page: Page) => page.locator(".transport strong").first();
/** The whole recording, to scrub. */
export const slider = (page: Page) => page.getByRole("slider", { name: "Time" });

/** Types into a field, key by key: what a script fills in changes nothing for Firefox. */
export async function type(field: Locator, text: string): Promise<void> {
  await field.press("ControlOrMeta+a");
  await field.pressSequentially(text);
  await field.press("Tab");
}
