/** Chapters on a phone, under a finger and on a wall. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./fixtures.ts";
import { simulated } from "./visualizer.ts";

test("axe finds nothing to object to in chapters that are presented", async ({
  browserName,
  context,
  origin,
}) => {
  test.skip(browserName === "firefox", "there it takes minutes, of the same pages");
  const page = await context.newPage();
  for (const id of ["filters", "scans", "stalls", "deletes"]) {
    await page.goto(`${origin}/demo/#ch=${id}`);
    await expect(page.locator(".watched")).toContainText("Watch this.");
    await page.getByRole("button", { name: "Present" }).click();
    await expect(page.locator(".presenting .figure")).toBeVisible();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await page.keyboard.press("Escape");
  }
});

test("on a phone the chapters are a list that opens, and a tap explains", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${origin}/demo/#ch=filters`);
  const title = page.getByRole("heading", { level: 1 });
  await expect(title).toBeInViewport();
  const scans = page.locator(".chapters nav a", { hasText: "scans" });
  await expect(scans).toBeHidden();
  await page.getByText("All chapters").click();
  await scans.click();
  await expect(page.locator(".count")).toContainText("Chapter 5");
  await expect(scans).toBeHidden();
  await expect.poll(() => page.evaluate(() => document.body.scrollWidth)).toBeLessThan(391);
  // A finger, which has no pointer at rest.
  await page.goto(`${origin}/demo/#v1&policy=spooky&load=40000&operations=60000`);
  await simulated(page);
  const word = page.locator("dfn", { hasText: "brought down" });
  await expect(page.locator(".tip")).toBeHidden();
  await word.dispatchEvent("pointerdown", { pointerType: "touch", bubbles: true });
  await word.dispatchEvent("click");
  await expect(page.locator(".tip")).toContainText("read in a higher level");
  await page.keyboard.press("Escape");
  await expect(page.locator(".tip")).toBeHidden();
  await word.dispatchEvent("pointerdown", { pointerType: "mouse", bubbles: true });
  await word.dispatchEvent("click");
  await expect(page.locator(".tip")).toBeHidden();
});
