/** The visualizer inside of another page. */

import { expect, test } from "./fixtures.ts";
import { openSimulated } from "./visualizer.ts";

test("a recording, a chapter and an example are embedded by an element", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/pages/store.html`);
  const small = "load=40000&amp;operations=60000";
  await page.setContent(
    `<script src="${origin}/demo/embed.js"></script>` +
      `<terrane-visualizer recording="v1&amp;policy=tiered&amp;at=300000&amp;${small}"></terrane-visualizer>` +
      `<terrane-visualizer chapter="levels"></terrane-visualizer>` +
      `<terrane-visualizer figure="filters"></terrane-visualizer>`,
  );
  const recording = page.frameLocator("terrane-visualizer[recording] iframe");
  await expect(recording.locator(".strata .names")).toContainText("Level 0");
  await expect(recording.locator(".transport strong").first()).toHaveText("0.30 s");
  await expect(recording.locator(".right")).toHaveCount(0);
  await expect(recording.getByRole("link", { name: "Open in the visualizer" })).toBeVisible();
  const chapter = page.frameLocator("terrane-visualizer[chapter] iframe");
  await expect(chapter.getByRole("heading", { level: 1 })).toContainText("Can one tree");
  const figure = page.frameLocator("terrane-visualizer[figure] iframe");
  await expect(figure.getByRole("slider", { name: "bits per key" })).toBeVisible();
  await expect(figure.locator(".question, .watch, article, nav")).toHaveCount(0);
  const whole = await figure.getByRole("link", { name: "Read the chapter" }).getAttribute("href");
  expect(whole).toMatch(/\/demo\/index\.html#ch=filters/);
});

test("the page says which element shows its moment elsewhere", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=400000&view=compare");
  await page.keyboard.press("o");
  const html = await page.getByRole("textbox", { name: /^HTML that shows/ }).inputValue();
  const other = await context.newPage();
  await other.goto(`${origin}/pages/store.html`);
  await other.setContent(html);
  const recording = other.frameLocator("terrane-visualizer iframe");
  await expect(recording.locator(".transport strong").first()).toHaveText("0.40 s");
  await expect(recording.locator(".compare figure strong").first()).toHaveText("leveled");
});
