/** The questions of the chapters, whose answers are predicted, then measured. */

import { AxeBuilder } from "@axe-core/playwright";
import { CHAPTERS, predict } from "./chapters.ts";
import { expect, type Page, test } from "./fixtures.ts";

/** Checks of each question's measured figures, as its chapter states them. */
const SHOWN: Record<string, (measured: number[]) => boolean> = {
  basics: ([memory = 0, flushed = 0]) => memory === 1 && flushed === 2,
  crash: ([sixth = 0, each = 0, none = 10]) => sixth === 6 && each === 10 && none === 0,
  levels: ([leveled = 0, lazy = 0, tiered = 0]) => leveled > lazy && lazy > tiered,
  filters: ([five = 0, ten = 0, monkey = 0]) => five > 6 * ten && ten > monkey,
  scans: ([leveledGet = 0, leveled = 0, tieredGet = 0, tiered = 0]) =>
    leveledGet === tieredGet && tiered > leveled && leveled > leveledGet,
  stalls: ([one = 0, four = 0, slow = 1, tiered = 1]) =>
    four > one && one > 0 && slow === 0 && tiered === 0,
  deletes: ([leveled = 0, lazy = 0, tiered = 0]) => tiered > leveled && leveled > lazy,
  partitions: ([size = 0, local = 0, global = 0]) => local > 2 * size && global > local,
  horizontal: ([full = 0, leveling = 0, tiering = 0]) => full > leveling && leveling > tiering,
  spooky: ([full = 0, partial = 0, spooky = 0]) => full > partial && partial > spooky,
  ptier: ([leveled = 0, tiered = 0, ptier = 0]) => leveled > tiered && ptier < leveled,
  bucket: ([leveled = 0, bucket = 0, fixed = 0, following = 0]) =>
    leveled > 2 * bucket && fixed > following,
  choose: ([leveled = 0, tiered = 0, scanned = 0, tieredScanned = 0]) =>
    tiered < leveled && scanned < tieredScanned,
};

for (const id of CHAPTERS) {
  test(`the question of ${id} is measured as the chapter says`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.goto(`${origin}/demo/#ch=${id}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.getByRole("button", { name: "Run", exact: true })).toBeDisabled();
    const measured = await predict(page, "2");
    expect(SHOWN[id]?.(measured), String(measured)).toBe(true);
  });
}

test("a question that was measured is measured again where its link leads, and on the way back", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=partitions`);
  await expect(page.locator(".question")).toBeVisible();
  const measured = await predict(page, "3");
  await expect.poll(() => page.url()).toMatch(/ran=1/);
  const figures = async (page: Page) =>
    (await page.locator(".question .measured b").allInnerTexts()).map(Number);
  const link = page.url();
  await page.getByRole("link", { name: "open this recording" }).last().click();
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("universal");
  await page.goBack();
  await expect(page.locator(".question [role=status]")).not.toBeEmpty();
  expect(await figures(page)).toEqual(measured);
  const other = await context.newPage();
  await other.goto(link);
  await expect(other.locator(".question input").first()).toHaveValue("3");
  await expect(other.locator(".question [role=status]")).not.toBeEmpty();
  expect(await figures(other)).toEqual(measured);
});

test("guesses are scored, and measured chapters are remembered", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=basics`);
  await predict(page, "3");
  const result = page.locator(".question .result p");
  await expect(result).toHaveCount(3);
  await expect(result.first()).toContainText("Guesses within a quarter");
  const measured = page.locator(".chapters nav a", { hasText: "measured" });
  await expect(measured).toHaveText(["LSM trees, measured"]);
  await page.reload();
  await expect(measured).toHaveText(["LSM trees, measured"]);
});

test("all questions are on one sheet, which prints alone", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=basics`);
  await page.getByRole("link", { name: "All questions, to print" }).click();
  await expect(page.locator(".sheet li")).toHaveCount(CHAPTERS.length);
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".chapters nav")).toBeHidden();
  await expect(page.locator(".sheet li").last()).toBeVisible();
  const results = await new AxeBuilder({ page }).analyze();
  expect(results.violations).toEqual([]);
});
