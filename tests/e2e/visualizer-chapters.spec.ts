/** The pages of the chapters: their recordings, how one leads to the next, presenting, and phones. */

import { AxeBuilder } from "@axe-core/playwright";
import { CHAPTERS, predict } from "./chapters.ts";
import { expect, type Page, test } from "./fixtures.ts";
import { simulated } from "./visualizer.ts";

/** Whether the picture has the label of an arrow: rows of pixels of ink, one below the other. */
function hasArrow(page: Page): Promise<boolean> {
  return page.locator(".strata canvas").evaluate((canvas: HTMLCanvasElement) => {
    const [long, rows] = [60, 3];
    const ink = [0x16, 0x20, 0x1f];
    const { width, height } = canvas;
    const data = canvas.getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
    const isInk = (at: number) => ink.every((part, i) => data[at * 4 + i] === part);
    let below = 0;
    for (let y = 0; y < height && below < rows; y++) {
      let [run, most] = [0, 0];
      for (let x = 0; x < width; x++) {
        run = isInk(y * width + x) ? run + 1 : 0;
        most = Math.max(most, run);
      }
      below = most >= long ? below + 1 : 0;
    }
    return below === rows;
  });
}

/** The chapters that have a recording to watch. */
const WATCHED = CHAPTERS.filter((id) => id !== "crash" && id !== "choose");

for (const id of WATCHED) {
  test(`${id} opens at its moment, and it happens`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(`${origin}/demo/#ch=${id}`);
    const moments = page.getByRole("group", { name: "Moments" }).getByRole("button");
    const time = page.locator(".watch .transport strong").first();
    for (let i = 0; i < Math.max(await moments.count(), 1); i++) {
      if (i > 0) await moments.nth(i).click();
      await expect(page.locator(".watched [role=status]")).toContainText("Watch this.");
      await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
      await expect.poll(() => hasArrow(page)).toBe(true);
      const before = await time.innerText();
      await page.getByRole("button", { name: "Watch it happen" }).click();
      await expect(time).not.toHaveText(before);
      // It ends by itself.
      await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
    }
  });
}

test("a reader who has gone elsewhere stays there when a moment is found", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  // The recording's first part arrives, and the others when the test says so.
  await page.addInitScript(() => {
    const { addEventListener } = Worker.prototype;
    const held: (() => void)[] = [];
    let [heard, isHeld] = [0, true];
    const release = () => {
      isHeld = false;
      for (const pass of held.splice(0)) pass();
    };
    Object.assign(window, { release });
    Worker.prototype.addEventListener = function (
      this: Worker,
      type: string,
      listener: (event: never) => void,
    ) {
      const pass = (event: Event) => {
        const hear = () => listener.call(this, event as never);
        if (type === "message" && isHeld && heard++ > 0) held.push(hear);
        else hear();
      };
      addEventListener.call(this, type, pass);
    } as typeof addEventListener;
  });
  await page.goto(`${origin}/demo/#ch=deletes`);
  const said = page.locator(".watched [role=status]");
  await expect(said).toContainText("Recording until this happens");
  const time = page.locator(".watch .transport strong").first();
  const start = await time.innerText();
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await expect(time).not.toHaveText(start);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  const here = await time.innerText();
  await page.evaluate(() => (window as unknown as { release(): void }).release());
  await expect(said).toContainText("Watch this.");
  await expect(time).toHaveText(here);
  await page.getByRole("button", { name: "Watch it again" }).click();
  await expect(time).not.toHaveText(here);
});

test("what a chapter watches can be opened in the visualizer", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(`${origin}/demo/#ch=deletes`);
  await page.getByRole("button", { name: "Moment 2" }).click();
  await page.getByRole("link", { name: "Open in the visualizer" }).click();
  const said = page.locator(".watched [role=status]");
  await expect(said).toContainText("they are dropped");
  await expect.poll(() => hasArrow(page)).toBe(true);
  await page.keyboard.press("t");
  await expect(page.locator(".tables tbody tr", { hasText: "watch this" })).toHaveCount(1);
  await expect(said).toContainText("Watch this.");
  // Another recording is watched for nothing.
  await page.getByRole("combobox", { name: "Policy" }).selectOption("tiered");
  await expect(page.locator(".watched")).toHaveCount(0);
});

test("chapters follow one another, and a recording of a question can be opened", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/`);
  await page.getByRole("link", { name: "Chapters" }).click();
  for (const [i] of CHAPTERS.entries()) {
    await expect(page.locator(".count")).toHaveText(`Chapter ${i + 1} of ${CHAPTERS.length}`);
    if (i + 1 < CHAPTERS.length) await page.getByRole("link", { name: /^Next/ }).click();
  }
  await page.goto(`${origin}/demo/#ch=partitions`);
  await predict(page, "3");
  await page.getByRole("link", { name: "open this recording" }).last().click();
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("universal");
  await simulated(page);
  await expect(page.getByRole("button", { name: "2 parameters changed" })).toBeVisible();
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing to object to in any chapter, ${scheme}`, async ({
    browserName,
    context,
    origin,
  }) => {
    test.skip(browserName === "firefox", "there it takes minutes, of the same pages");
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: scheme });
    for (const id of CHAPTERS) {
      await page.goto(`${origin}/demo/#ch=${id}`);
      await expect(page.locator(".figure:not(.steps)")).toBeVisible();
      expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    }
  });
}

test("a chapter is presented part by part, then the next", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=partitions`);
  await expect(page.locator(".watched")).toContainText("Watch this.");
  await expect(page.locator(".paper")).toBeVisible();
  await page.keyboard.press("p");
  await expect(page.locator(".chapters nav")).toHaveCount(0);
  const top = (part: string) =>
    page.locator(part).evaluate((one) => Math.abs(one.getBoundingClientRect().top));
  for (const part of [".figure", ".watch", ".question", ".paper"]) {
    await page.keyboard.press("PageDown");
    await expect.poll(() => top(part)).toBeLessThan(2);
  }
  await page.keyboard.press("PageDown");
  await expect(page.locator(".count")).toContainText("Chapter 9");
  await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
  await page.keyboard.press("PageUp");
  await expect(page.locator(".count")).toContainText("Chapter 8");
  await page.keyboard.press("Escape");
  await expect(page.locator(".chapters nav")).toBeVisible();
});

test("chapters fit a phone", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 360, height: 740 });
  for (const id of CHAPTERS) {
    await page.goto(`${origin}/demo/#ch=${id}`);
    await expect(page.locator(".figure:not(.steps)")).toBeVisible();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, id).toBeLessThanOrEqual(360);
    const small = await page.locator(".chapter button:visible").evaluateAll((buttons) =>
      buttons
        .map((button) => [button.textContent, button.getBoundingClientRect()] as const)
        .filter(([, { width, height }]) => Math.min(width, height) < 44)
        .map(([text]) => text),
    );
    expect(small, id).toEqual([]);
  }
});
