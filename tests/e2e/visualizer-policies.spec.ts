/** Marks of policies, and the read of one key, as the visualizer shows them. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page, test } from "./fixtures.ts";
import { clock, open, openSimulated, simulated, slider, type } from "./visualizer.ts";

/** Steps from place to place until the read is done. */
async function stepToTheEnd(page: Page): Promise<void> {
  const button = page.locator(".reading button[type=submit]");
  await expect(page.locator(".reading li").first()).toBeVisible();
  while ((await button.innerText()).startsWith("Next place")) await button.click();
  await expect(page.locator(".reading .sum")).toBeVisible();
}

const facts = (page: Page) => page.locator("section", { hasText: "What the policy remembers" });

test("the temperatures of buckets are shown, and are four fair shares", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=bucket&workload=shifting&at=700000");
  await expect(page.locator(".strata .names")).toContainText(/\d buckets? hottest \d.* \(N = 4\)/);
  const temperatures = await facts(page).locator("tbody td:last-child").allInnerTexts();
  const sum = temperatures.reduce((sum, text) => sum + Number(text), 0);
  expect(Math.abs(sum - 4)).toBeLessThan(0.01 * temperatures.length);
});

test("counters, parts and the dividing level are named where they lie", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=horizontal-tiering&at=700000");
  await expect(page.locator(".level", { hasText: "Level 1" }).locator(".mark")).toHaveText(/[●○]/);
  await expect(facts(page)).toContainText("counter of level 1");
  await open(page, origin, "policy=vertiorizon&at=700000");
  await simulated(page);
  await expect(facts(page)).toContainText("v1 level");
  await open(page, origin, "policy=spooky&at=700000");
  await simulated(page);
  await expect(page.locator(".level .mark", { hasText: "X" })).toHaveCount(1);
  await open(page, origin, "policy=tiered&at=700000");
  await simulated(page);
  await expect(facts(page)).toHaveCount(0);
});

test("a key is read place by place, at any moment", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=tiered&at=900000");
  await page.getByRole("button", { name: "Read a key" }).click();
  await page.getByRole("button", { name: "the next key on disk" }).click();
  const places = page.locator(".reading li");
  await expect(places).toHaveCount(1);
  await expect(places.first()).toContainText("active memtable");
  await page.getByRole("textbox", { name: "key", exact: true }).press("Enter");
  await expect(places).toHaveCount(2);
  await stepToTheEnd(page);
  await expect(page.locator(".reading .sum")).toContainText(
    /The key (was found|is deleted): \d+ places/,
  );
  // An earlier moment has another tree, and another read.
  const before = await page.locator(".reading ol").innerText();
  await slider(page).press("PageDown");
  await expect(places).toHaveCount(0);
  await page.getByRole("button", { name: /^Read Enter/ }).click();
  await expect(places.first()).toBeVisible();
  expect(before).not.toBe("");
});

test("a filter that is wrong costs a block, and the link shows it again", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=tiered&at=900000");
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "one that a filter is wrong about" }).click();
  await stepToTheEnd(page);
  await expect(page.locator(".reading ol")).toContainText("filter: yes, and wrong; 1 block");
  const sum = await page.locator(".reading .sum").innerText();
  expect(sum).toMatch(/^No place has the key: .* [1-9]\d* for nothing/);
  const violations = (await new AxeBuilder({ page }).analyze()).violations;
  expect(violations).toEqual([]);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("status")).toBeVisible();
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.locator(".reading .sum")).toHaveText(sum);
  await expect(clock(other)).toHaveText("0.90 s");
});

test("the engine's own store is read, too", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#v1&device=memory&policy=leveled&load=4000&operations=4000`);
  await simulated(page);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "the next key on disk" }).click();
  await stepToTheEnd(page);
  await expect(page.locator(".reading .sum")).toContainText("The key was found");
  const reading = page.getByRole("region", { name: "Read a key" });
  await type(reading.getByRole("textbox", { name: "key", exact: true }), "no such key");
  await page.getByRole("button", { name: /^Read Enter/ }).click();
  await stepToTheEnd(page);
  await expect(page.locator(".reading .sum")).toContainText("No place has the key");
});
