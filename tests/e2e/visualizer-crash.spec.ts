/** The visualizer's power failure on the engine: what was not synced is lost, and the run continues. */

import { AxeBuilder } from "@axe-core/playwright";
import type { BrowserContext } from "@playwright/test";
import { expect, type Page, test } from "./fixtures.ts";
import { hurry, simulated, slider, slowDown } from "./visualizer.ts";

/** A run of some seconds on the browser's files. */
const RUN = "#v1&device=opfs&policy=leveled&load=6000&operations=24000&rate=5000&cmp=tiered";

/** The panel of power failures, and its button. */
const crashPanel = (page: Page) => page.getByRole("region", { name: "A crash" });
const crashNow = (page: Page) => crashPanel(page).getByRole("button", { name: "crash now" });

/** A page with a run on the browser's files that is at its end. */
async function openWritten(context: BrowserContext, origin: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#v1&device=opfs&policy=tiered&load=3000&operations=3000`);
  await simulated(page);
  return page;
}

test("the power fails amid a run on the engine: unsynced writes are lost, and the run goes on", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  // It lasts until the power has failed, however long this test takes.
  await slowDown(page, 20);
  await page.goto(`${origin}/demo/${RUN}`);
  const panel = crashPanel(page);
  await expect(panel).toContainText("synced within a second");
  await expect(page.locator(".strata .names")).toContainText(/Level 0\D* [\d.,]+ MiB/);
  // Now and then everything was just synced.
  let lost = 0;
  let failures = 0;
  while (lost === 0 && failures < 12) {
    await crashNow(page).click();
    failures += 1;
    await expect(page.locator(".failure")).toHaveCount(failures);
    const told = await panel.getByRole("status").innerText();
    lost = Number(/([\d,]+) writes? lost/.exec(told)?.[1]?.replaceAll(",", "") ?? 0);
  }
  expect(lost).toBeGreaterThan(0);
  await hurry(page);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("The power failed with");
  await expect(page.getByRole("region", { name: "What the engine did" })).toContainText(
    "The power failed with",
  );
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  // It is written to its end, and the store can be read.
  await simulated(page);
  await slider(page).press("End");
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  await expect(page.locator(".strata .names")).toContainText(/Level \d\D* [\d.,]+ MiB/);
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "the next key on disk" }).click();
  await expect(page.locator(".reading li").first()).toBeVisible();
  // Before the failure nothing is known of it; after it, it is the same again.
  await slider(page).press("Home");
  await expect(panel).toContainText("synced within a second");
  await slider(page).press("End");
  await expect(panel.getByRole("status")).toContainText("not synced");
  expect(errors).toEqual([]);
});

test("when all is written and synced, a power failure takes nothing", async ({
  context,
  origin,
}) => {
  const page = await openWritten(context, origin);
  await slider(page).press("End");
  await page.keyboard.press("t");
  const rows = page.locator(".tables tbody tr");
  const tables = async () => (await rows.locator("td:nth-child(-n+7)").allInnerTexts()).join(" ");
  await expect(rows.first()).toBeVisible();
  const before = await tables();
  const panel = crashPanel(page);
  await crashNow(page).click();
  await expect(panel.getByRole("status")).toContainText("0 writes lost");
  await slider(page).press("End");
  await expect.poll(tables).toBe(before);
});

test("a second tab is told that the store is open in the first, which goes on", async ({
  context,
  origin,
}) => {
  const page = await openWritten(context, origin);
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open it in a second tab" }).click();
  const other = await opened;
  await expect(other.getByRole("alert")).toContainText(/open|held/);
  await other.close();
  await page.bringToFront();
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  await crashNow(page).click();
  await expect(crashPanel(page).getByRole("status")).toBeVisible();
});

test("where there is nothing to recover, it is said, and leads to where there is", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#v1&device=memory&policy=tiered&load=2000&operations=2000`);
  const panel = crashPanel(page);
  await expect(panel).toContainText("gone with the power");
  await expect(crashNow(page)).toHaveCount(0);
  await page.getByRole("combobox", { name: "Device" }).selectOption("a simulated SATA SSD");
  await expect(panel).toContainText("neither files nor a log on disk");
  await panel.getByRole("button", { name: "on this browser's files" }).click();
  await expect(page.getByRole("combobox", { name: "Device" })).toHaveValue("opfs");
  await expect(crashNow(page)).toBeVisible();
});
