/** The first moment of a new visitor, and the page without scripts. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page, test } from "./fixtures.ts";
import { open } from "./visualizer.ts";

const sections = (page: Page) => page.locator(".right section");

test("a new visitor sees one tree and one reason", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "");
  await expect(page.locator(".verdict")).toHaveText(/^Level 1 has .* against a capacity of/);
  await expect(sections(page)).toHaveCount(1);
  const ways = page.getByRole("navigation", { name: "Page" });
  const names = ["Start here", "Short answers", "Chapters", "All controls"];
  await expect(ways.locator("a, button")).toHaveText(names);
  await expect(page.locator(".ribbon")).toBeHidden();
  await expect(page.locator(".settling")).toHaveCount(0);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  // Nothing is lost: all is a button away, and stays for the visit.
  await page.getByRole("button", { name: "All controls" }).click();
  await expect(page.getByRole("combobox", { name: "Policy" })).toBeVisible();
  await expect(page.locator(".ribbon")).toBeVisible();
  await expect(sections(page)).not.toHaveCount(1);
  await expect(ways.getByRole("link", { name: "Short answers" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Policy" })).toBeVisible();
});

test("the first moment is seen before time passes", async ({ context, origin }) => {
  const page = await context.newPage();
  // All moments that are shown, in their order.
  await page.addInitScript(() => {
    const seen = new Set<string>();
    Object.assign(window, { seen });
    const look = () => {
      const text = document.querySelector(".calm:not(.settling) .transport strong")?.textContent;
      if (text) seen.add(text);
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await open(page, origin, "");
  const seen = () => page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen]);
  await expect.poll(async () => (await seen()).length).toBeGreaterThan(1);
  // The merge has just started: nothing passed unseen.
  expect((await seen())[0]).toBe("13.21 s");
  await expect(page.locator(".right header span").first()).toHaveText(/^decided at /);
});

test("keys of other controls show all of them", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "All controls" })).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("combobox", { name: "Policy" })).toBeVisible();
});

test("without scripts the page says what it is, with a picture and answers", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/`);
  const found = await page.evaluate(async () => {
    const html = await (await fetch("./")).text();
    // A parser has no scripts: it reads what they would hide.
    const parsed = new DOMParser().parseFromString(html, "text/html");
    const links = [...parsed.querySelectorAll("noscript [href], noscript [src]")];
    const image = new Image();
    const content = parsed.querySelector("meta[property='og:image']")?.getAttribute("content");
    image.src = content ?? "";
    await image.decode();
    return {
      said: parsed.querySelector("noscript")?.textContent ?? "",
      links: links.map((link) => link.getAttribute("href") ?? link.getAttribute("src") ?? ""),
      size: [image.naturalWidth, image.naturalHeight],
      answers: await (await fetch("./answers.txt")).text(),
    };
  });
  expect(found.said).toContain("draws the LSM tree");
  expect(found.links).toEqual(["./preview.png", "./answers.txt", "./preview.png"]);
  expect(found.size).toEqual([1200, 630]);
  expect(found.answers).toContain("How do the counters of horizontal tiering choose");
});
