/** Answers that are found without a guess, and terms that chapters explain. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, test } from "./fixtures.ts";

/** Questions of a reader who knows no LSM tree, each with words of the answer. */
const ASKED: [ask: RegExp, answer: RegExp][] = [
  [/full merge need twice the space/, /inputs must stay on disk until the whole output is safe/],
  [/trivial move, and when/, /without being rewritten.*overlaps no other table/],
  [/Global-Range do that Local-Range/, /cuts all runs at the same keys/],
  [
    /counters of horizontal tiering/,
    /start at the same number k.*lowers the first by one.*counter is 0 is due.*admissions 3, 5 and 6/,
  ],
  [/Spooky have a dividing merge/, /cuts its output at the same keys as the tables of the largest/],
  [/PTierDB merge, and when does it move/, /share a prefix with at least two others/],
  [/splits a bucket/, /more than twice an equal share.*N is the number of buckets at the start/],
  [/false positive, and what does it cost/, /one block, read from the device for nothing/],
  [/power failure take/, /after the last sync/],
  [/heavy writes and range scans/, /horizontal leveling takes the least time.*Spooky/],
];

test("short answers are a link from the start", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/`);
  await page.getByRole("link", { name: "Short answers" }).click();
  const answers = page.locator(".answers section");
  for (const [ask, answer] of ASKED) {
    const found = answers.filter({ has: page.getByRole("heading", { name: ask }) });
    await expect(found).toHaveCount(1);
    await expect(found).toContainText(answer);
  }
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await answers.filter({ hasText: "PTierDB merge" }).getByRole("link").click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("without being rewritten");
  await expect(page.locator(".short")).toContainText("share a prefix with at least two others");
});

test("a reader who does not guess is shown the result", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=basics`);
  const result = page.locator(".question .result p");
  await expect(page.getByRole("button", { name: "Run", exact: true })).toBeDisabled();
  await expect(result).toHaveCount(0);
  await page.getByRole("button", { name: "Show without guessing" }).click();
  // The usual misconception, and the explanation; no guesses are scored.
  await expect(result).toHaveCount(2);
  await expect(result.last()).toContainText("an LSM tree deletes by writing");
  await expect(page.locator(".question .lesson")).toBeVisible();
  await expect(page.locator(".question .measured b")).toHaveText(["1", "2"]);
  // The link leads to the same.
  await expect.poll(() => page.url()).toMatch(/ran=1/);
  const other = await context.newPage();
  await other.goto(page.url());
  await expect(other.locator(".question .measured b")).toHaveText(["1", "2"]);
  await expect(other.locator(".question .result p")).toHaveCount(2);
});

test("terms of a chapter are explained by the keyboard and by a finger", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=deletes`);
  const tip = page.locator(".tip");
  const term = page.locator("article dfn", { hasText: "tombstone" });
  await expect(term).toHaveCount(1);
  await expect(tip).toBeHidden();
  await page.locator("article dfn").first().focus();
  while (!(await term.evaluate((one) => one === document.activeElement)))
    await page.keyboard.press("Tab");
  await expect(tip).toContainText("An entry that says that its key is deleted");
  // The key closes the explanation, and then leaves the chapter.
  await page.keyboard.press("Escape");
  await expect(tip).toBeHidden();
  await expect(page.locator(".count")).toBeVisible();
  await page.keyboard.press("Tab");
  await page.locator("h1").click();
  await term.dispatchEvent("pointerdown", { pointerType: "touch", bubbles: true });
  await term.dispatchEvent("click");
  await expect(tip).toContainText("An entry that says that its key is deleted");
});
