/** The examples of the chapters, to try by hand; a link leads to the step that a reader is at. */

import { CHAPTERS } from "./chapters.ts";
import { expect, type Page, test } from "./fixtures.ts";
import { type } from "./visualizer.ts";

test("the examples can be worked", async ({ context, origin }) => {
  const page = await context.newPage();
  const chapter = (id: string) => page.goto(`${origin}/demo/#ch=${id}`);
  await chapter("basics");
  await page.getByRole("checkbox", { name: "memtable" }).check();
  await page.getByRole("button", { name: "Look" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("Right:");
  await chapter("partitions");
  await expect(page.locator(".figure [role=status]")).toContainText("1 merge and 0 tables moved");
  await page.getByRole("radio", { name: "halve the key space" }).check();
  await expect(page.locator(".figure [role=status]")).toContainText("2 merges and 1 table moved");
  await chapter("horizontal");
  await page.getByRole("button", { name: "after admission 3" }).click();
  await page.getByRole("button", { name: "after admission 5" }).click();
  await expect(page.locator(".figures dd").last()).toHaveText("80");
  await chapter("ptier");
  await page.getByRole("button", { name: "the rule as printed" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("A read of b finds an old");
  await page.getByRole("button", { name: "close the set" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("found at its newest version");
  await chapter("bucket");
  await page.getByRole("button", { name: "split and join" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("No bucket is too hot");
  await chapter("filters");
  await page.getByRole("slider", { name: "bits per key" }).press("Home");
  await expect(page.locator(".figure .controls button", { hasText: "◇" })).not.toHaveCount(0);
  await page.getByRole("slider", { name: "bits per key" }).press("End");
  await expect(page.locator(".figure .controls button", { hasText: "◇" })).toHaveCount(0);
  await chapter("scans");
  await page.getByRole("slider", { name: "runs" }).press("Home");
  await expect(page.locator(".figures dd").first()).toHaveText("2");
  await page.getByRole("slider", { name: "runs" }).press("End");
  await expect(page.locator(".figures dd").first()).toHaveText("8");
  await chapter("stalls");
  await expect(page.locator(".figure [role=status]")).toContainText("Writes wait for");
  await page.getByRole("slider", { name: "a run is merged in" }).press("Home");
  await expect(page.locator(".figure [role=status]")).toContainText("Writes never wait");
  await chapter("deletes");
  await page.getByRole("button", { name: "merge level 0" }).click();
  await page.getByRole("button", { name: "drop the tombstone" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("fern is back");
  await page.getByRole("button", { name: "again" }).click();
  for (const level of [0, 1, 2])
    await page.getByRole("button", { name: `merge level ${level}` }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("dropped the tombstone");
});

/** Work on the example of each chapter, away from its first state. */
const WORKED: Record<string, (page: Page) => Promise<void>> = {
  basics: async (page) => {
    await page.getByRole("checkbox", { name: "level 1" }).check();
    await page.getByRole("button", { name: "Look" }).click();
  },
  crash: async (page) => {
    await page.getByRole("checkbox", { name: "synced" }).check();
    await page.getByRole("button", { name: "put" }).click();
    await expect(page.locator(".written")).toContainText("put fern");
    await page.getByRole("checkbox", { name: "synced" }).uncheck();
    await page.getByRole("button", { name: "delete" }).click();
    await expect(page.locator(".written")).toContainText("delete fern");
    await page.getByRole("button", { name: "crash now" }).click();
    await expect(page.locator(".figure [role=status]")).toContainText("1 write lost");
  },
  levels: (page) => page.getByRole("button", { name: "lazy leveling" }).click(),
  filters: async (page) => {
    await page.getByRole("button", { name: "elm" }).click();
    await page.getByRole("slider", { name: "bits per key" }).press("ArrowLeft");
  },
  scans: async (page) => {
    await page.getByRole("slider", { name: "runs" }).press("ArrowLeft");
    await page.getByRole("slider", { name: "first key" }).press("ArrowRight");
  },
  stalls: (page) => page.getByRole("slider", { name: "a run is merged in" }).press("ArrowRight"),
  deletes: async (page) => {
    await page.getByRole("checkbox", { name: "an older version in level 2" }).check();
    await page.getByRole("button", { name: "merge level 0" }).click();
  },
  partitions: async (page) => {
    await page.getByRole("radio", { name: "halve the key space" }).check();
    await page.getByRole("slider", { name: "keys per table" }).press("ArrowLeft");
  },
  horizontal: async (page) => {
    await page.getByRole("button", { name: "after admission 5" }).click();
  },
  spooky: async (page) => {
    await type(page.getByRole("spinbutton", { name: "your guess" }).first(), "2.25");
    await page.getByRole("slider", { name: "Spooky's groups" }).press("ArrowRight");
    await page.getByRole("slider", { name: "MiB written" }).press("PageUp");
  },
  ptier: async (page) => {
    await page.getByRole("button", { name: "the rule as printed" }).click();
    await page.getByRole("button", { name: "why?" }).click();
  },
  bucket: async (page) => {
    await page.getByRole("slider", { name: "bucket 2" }).press("ArrowRight");
    await page.getByRole("button", { name: "split and join" }).click();
  },
  choose: async (page) => {
    await page.getByRole("slider", { name: "scans" }).press("ArrowRight");
    await page.getByRole("slider", { name: "space, at most" }).press("ArrowLeft");
  },
};

/** All that an example shows and says, and what is set in it. */
function example(page: Page): Promise<unknown[]> {
  return page.locator(".figure:not(.steps)").evaluate((figure) => {
    const fields = [...figure.querySelectorAll("input")];
    const set = fields.map(({ value, checked }) => [value, checked]);
    const drawn = [...figure.querySelectorAll("svg")].map((svg) => svg.innerHTML);
    // Svelte marks where its blocks are.
    return [(figure as HTMLElement).innerText, set, drawn.join().replaceAll(/<!--.*?-->/g, "")];
  });
}

for (const id of CHAPTERS) {
  test(`a link to ${id} leads to the step that its reader is at`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.goto(`${origin}/demo/#ch=${id}`);
    await expect(page.locator(".figure:not(.steps)")).toBeVisible();
    // The store is open.
    await expect(page.locator(".figure button:disabled", { hasText: "put" })).toHaveCount(0);
    const fresh = await example(page);
    await WORKED[id]?.(page);
    const guesses = page.locator(".question input");
    await type(guesses.first(), "7.5");
    await expect.poll(() => page.url()).toContain("guess=7.5");
    const worked = await example(page);
    expect(worked).not.toEqual(fresh);
    await page.getByRole("button", { name: "Copy a link" }).click();
    await expect(page.locator(".chapter article [role=status]")).toContainText("The link to this");
    const link = page.url();
    // The store of the example on crashes belongs to one tab at a time.
    await page.goto("about:blank");
    await page.goto(link);
    await expect.poll(() => example(page)).toEqual(worked);
    await expect(guesses.first()).toHaveValue("7.5");
    // The chapter by its name alone is as it was at first.
    await page.locator(".chapters nav [aria-current]").click();
    await expect(guesses.first()).toHaveValue("");
    await expect.poll(() => example(page)).toEqual(fresh);
  });
}

test("the rules of counters and of pairs are drawn step by step", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=horizontal`);
  const counters = page.getByRole("region", { name: "which admission lowers which counter" });
  const steps = counters.locator(".walk li");
  await expect(steps).toHaveCount(6);
  const due = await steps.evaluateAll((all) => all.map(({ className }) => className));
  expect(due.flatMap((name, i) => (name.includes("due") ? [i + 1] : []))).toEqual([3, 5, 6]);
  await expect(steps.nth(2)).toContainText("Counter 1 falls from 1 to 0. So level 1 is due.");
  await expect(steps.nth(2)).toContainText("Counter 1 starts again where counter 2 is: at 2.");
  // A round of the recording, which ends in zeroes.
  await expect(counters.locator(".counts tr").first().locator("td")).toHaveCount(20);
  await expect(counters.locator(".counts tr").nth(3).locator("td").last()).toHaveText("0");
  await page.goto(`${origin}/demo/#ch=ptier`);
  const pairs = page.getByRole("region", { name: "merged or moved" }).locator(".walk li");
  await expect(pairs).toHaveCount(5);
  const fates = (at: number) => pairs.nth(at).locator(".fate").allInnerTexts();
  expect(await fates(0)).toEqual(["merged", "merged", "merged"]);
  expect(await fates(3)).toEqual(["moves", "moves"]);
  expect(await fates(4)).toEqual(["moves", "merged", "merged", "joins the merge", "merged"]);
});

/** Names of the plot that are on a dot or on another name, by their boxes on the page. */
function covered(page: Page): Promise<string[]> {
  return page.locator(".pareto svg").evaluate((svg) => {
    const boxes = [...svg.querySelectorAll("circle, text")].map((one) => ({
      one,
      name: one.textContent,
      box: one.getBoundingClientRect(),
    }));
    const meet = (a: DOMRect, b: DOMRect) =>
      a.left < b.right && b.left < a.right && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
    return boxes
      .filter(({ one }) => one.matches("text:not(.tick)"))
      .filter(({ one, box }) => boxes.some((other) => other.one !== one && meet(box, other.box)))
      .map(({ name }) => name);
  });
}

test("the button of the answer's mix sets it once", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=choose`);
  const button = page.getByRole("button", { name: "The answer's mix" });
  await button.click();
  for (const [name, share] of [
    ["updates", "90"],
    ["gets", "0"],
    ["scans", "10"],
  ] as const)
    await expect(page.getByRole("slider", { name })).toHaveValue(share);
  await expect(button).toBeDisabled();
  await expect.poll(() => page.url()).toContain("mix=90,0,10");
  await page.getByRole("slider", { name: "gets" }).press("ArrowRight");
  await expect(button).toBeEnabled();
});

test("all policies are measured, and one is chosen with reasons", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=choose&mix=90,10,0`);
  await page.getByRole("button", { name: "Measure all policies" }).click();
  const advice = page.locator(".advice");
  await expect(advice).toContainText("of the device under it", { timeout: 300_000 });
  await expect(page.locator(".pareto circle")).toHaveCount(17);
  // Each is named beside its dot, also on a phone.
  const names = await page.locator(".pareto circle title").allTextContents();
  for (const text of names)
    await expect(
      page.locator(".pareto svg > text").getByText(text.split(":")[0] ?? "", { exact: true }),
    ).toHaveCount(1);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    await expect.poll(() => covered(page)).toEqual([]);
  }
  await expect(page.locator(".pareto .picked")).toHaveCount(1);
  const picked = await advice.locator("b").innerText();
  await expect(page.locator(".pareto .picked title")).toContainText(picked);
  const limit = page.getByRole("slider", { name: "space, at most" });
  await limit.press("Home");
  await expect(advice).toContainText(/No policy takes so little|times the space\./);
  await page.getByRole("slider", { name: "scans" }).press("ArrowRight");
  await limit.press("End");
  await expect(advice).toContainText("measure again");
});

test("a crash loses the writes after the last sync, and no others", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=crash`);
  const put = async (key: string) => {
    await type(page.getByRole("textbox", { name: "key" }), key);
    await page.getByRole("button", { name: "put" }).click();
    await expect(page.locator(".written")).toContainText(`put ${key}`);
  };
  await put("fern");
  await page.getByRole("checkbox", { name: "synced" }).check();
  await put("moss");
  await page.getByRole("checkbox", { name: "synced" }).uncheck();
  await put("kelp");
  await page.getByRole("button", { name: "crash now" }).click();
  await expect(page.locator(".figure [role=status]")).toContainText("1 write lost");
  await expect(page.locator(".halves dt")).toHaveText(["fern", "moss"]);
  await expect(page.locator(".written .lost")).toContainText("put kelp");
  // A second tab learns that the store is taken; this one continues.
  const other = await context.newPage();
  await other.goto(`${origin}/demo/#ch=crash`);
  await expect(other.locator(".figure [role=alert]")).not.toBeEmpty();
  await other.close();
  await page.bringToFront();
  await put("iris");
  await expect(page.locator(".halves dt")).toHaveText(["fern", "iris", "moss"]);
});
