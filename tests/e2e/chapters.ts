/** The chapters of the visualizer, in their order, and a prediction of what a chapter's question measures. */

import { expect, type Page } from "./fixtures.ts";
import { type } from "./visualizer.ts";

export const CHAPTERS = [
  "basics",
  "crash",
  "levels",
  "filters",
  "scans",
  "stalls",
  "deletes",
  "partitions",
  "horizontal",
  "spooky",
  "ptier",
  "bucket",
  "choose",
];

/** Predicts the same of everything, and has it measured. */
export async function predict(page: Page, guess: string): Promise<number[]> {
  await expect(page.locator(".question input").first()).toBeVisible();
  for (const field of await page.locator(".question input").all()) await type(field, guess);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.locator(".question [role=status]")).not.toBeEmpty();
  await expect(page.locator(".question [role=alert]")).toHaveCount(0);
  return (await page.locator(".question .measured b").allInnerTexts()).map(Number);
}
