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

/** Slows the pages' own work by the clock, such as writes at a rate, by a factor of `times`, until `hurry`. */
export async function slowDown(page: Page, times: number): Promise<void> {
  await page.addInitScript((times) => {
    const now = performance.now.bind(performance);
    Object.assign(window, { times });
    performance.now = () => now() / (window as unknown as { times: number }).times;
  }, times);
}

/** Lets such a page continue at the clock's own pace. */
export async function hurry(page: Page): Promise<void> {
  await page.evaluate(() => Object.assign(window, { times: 1 }));
}

/** Records the page's headings from its start; the returned function returns them. */
export async function headings(page: Page): Promise<() => Promise<string>> {
  await page.addInitScript(() => {
    const said: string[] = [];
    Object.assign(window, { said });
    const note = () => {
      const text = document.querySelector("h1")?.innerText ?? "";
      if (text !== said.at(-1)) said.push(text);
    };
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(note).observe(document, all);
  });
  const said = () => page.evaluate(() => (window as unknown as { said: string[] }).said);
  return async () => (await said()).join("\n");
}

/** Lets a read that has started in this form run to its end; returns its summary. */
export async function readToTheEnd(reading: Locator): Promise<string> {
  const more = reading.getByRole("button", { name: "to the end" });
  const sum = reading.locator(".sum");
  await expect(async () => {
    if (await more.isVisible()) await more.click({ timeout: 1000 });
    await expect(sum).toBeVisible({ timeout: 1000 });
  }).toPass();
  return sum.innerText();
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
