/** The visualizer, by its visible controls: a run plays, can be scrubbed, linked to and read as text. */

import { AxeBuilder } from "@axe-core/playwright";
import type { Request } from "@playwright/test";
import { expect, type Page, test } from "./fixtures.ts";
import {
  clock,
  headings,
  hurry,
  open,
  openSimulated,
  simulated,
  slider,
  slowDown,
  type,
} from "./visualizer.ts";

/** All that a moment says in text: its sentence, its reason, its costs, its rivals and its tables. */
async function moment(page: Page): Promise<string> {
  // Rivals are simulated beside it, and may come to the moment later.
  await expect(page.locator(".right small", { hasText: "not there yet" })).toHaveCount(0);
  const texts = await page
    .locator(
      "h1, .right section:not([aria-labelledby=log-title], [aria-labelledby=charts-title]), .tables",
    )
    .allInnerTexts();
  return [await clock(page).innerText(), ...texts].join("\n");
}

test("a stranger sees a tree move without doing anything", async ({ context, origin }) => {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  const told = await headings(page);
  await open(page, origin, "");
  await expect(page.locator(".level:not(.absent)").first()).toContainText("Level 0");
  await expect.poll(told).toContain("Merging");
  await expect(page.locator(".verdict")).not.toBeEmpty();
  const before = await clock(page).innerText();
  await expect(clock(page)).not.toHaveText(before);
  expect(errors).toEqual([]);
});

test("a new visitor is offered the first minute", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "");
  await expect(page.getByRole("combobox", { name: "speed" })).toHaveValue("0");
  // A decision is held: the moment that is shown is the one at which it was made.
  const decided = page.locator("section[aria-labelledby=why-title] header span");
  await expect(async () => {
    const [shown, at] = [await clock(page).innerText(), await decided.innerText()];
    expect(at).toBe(`decided at ${shown}`);
  }).toPass();
  await expect(page.locator("h1")).toHaveText(/^Merging level 1 into level 2/);
  await page.getByRole("button", { name: "Start here" }).click();
  const tour = page.getByRole("group", { name: "The first minute" });
  await expect(tour).toContainText("1 of 5");
  for (const words of ["a run", "a flush", "merged down", "moves down"]) {
    await tour.getByRole("button", { name: "Next" }).click();
    await expect(tour).toContainText(words);
  }
  await tour.getByRole("button", { name: "Watch it" }).click();
  await expect(tour).toHaveCount(0);
});

test("the simulator is loaded once for all policies", async ({ context, origin }) => {
  const page = await context.newPage();
  const loaded: string[] = [];
  const note = (request: Request) => {
    if (request.url().includes("terrane_sim")) loaded.push(request.url());
  };
  context.on("request", note);
  await open(page, origin, "policy=leveled&at=400000");
  await simulated(page);
  await expect(page.locator(".right small", { hasText: "not there yet" })).toHaveCount(0);
  context.off("request", note);
  expect(loaded).toHaveLength(1);
});

test("a moment is the same after scrubbing on and back", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=400000");
  await page.keyboard.press("t");
  await expect(page.locator(".tables tbody tr").first()).toBeVisible();
  const there = await moment(page);
  await slider(page).focus();
  await page.keyboard.press("End");
  await expect(page.locator(".tables")).not.toContainText("being merged");
  await page.keyboard.press("Home");
  await expect(clock(page)).toHaveText("0.00 s");
  await page.goto("about:blank");
  await open(page, origin, "policy=leveled&at=400000");
  await simulated(page);
  await page.keyboard.press("t");
  await expect.poll(() => moment(page)).toBe(there);
  // One decision on and back again ends at that decision, however it is reached.
  await page.keyboard.press("k");
  const decided = await moment(page);
  expect(decided).not.toBe(there);
  await page.keyboard.press("k");
  await page.keyboard.press("j");
  await expect.poll(() => moment(page)).toBe(decided);
});

test("a link leads to the same moment of the same recording", async ({ context, origin }) => {
  const page = await openSimulated(
    context,
    origin,
    "policy=tiered&workload=uniform&seed=3&p.sizeRatio=3&at=500000",
  );
  await page.keyboard.press("t");
  const there = await moment(page);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("status")).toContainText("link to this moment");
  const link = page.url();
  expect(link).toContain("p.sizeRatio=3");
  const other = await context.newPage();
  await other.goto(link);
  await simulated(other);
  // As text, as it was.
  await expect(other.locator(".tables tbody tr").first()).toBeVisible();
  await expect.poll(() => moment(other)).toBe(there);
});

test("every policy can be chosen, and compacts", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "speed=8");
  const policy = page.getByRole("combobox", { name: "Policy" });
  const names = await policy.locator("option").allInnerTexts();
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) {
    await policy.selectOption(name);
    await simulated(page);
    await expect(page.locator("[role=alert]")).toHaveCount(0);
    await slider(page).press("End");
    await expect(page.locator(".right section").nth(2).locator("th").nth(3)).toContainText(name);
    await expect(page.locator(".strata .names")).toContainText(/Level \d\D* [\d.,]+ MiB/);
  }
});

for (const device of ["opfs", "memory"]) {
  test(`the engine itself is seen at work, ${device}`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.goto(
      `${origin}/demo/#v1&device=${device}&policy=leveled&load=4000&operations=8000&seed=1`,
    );
    await expect(page.getByRole("combobox", { name: "Device" })).toHaveValue(device);
    await simulated(page);
    await slider(page).press("End");
    await expect(page.locator(".strata .names")).toContainText(/Level \d\D* [\d.,]+ MiB/);
    await expect(page.locator(".transport")).toContainText(/decision [1-9]/);
    // Its rivals run one after the other, on stores of their own.
    await expect(page.locator(".right section").nth(2)).not.toContainText("not there yet");
    await expect(page.locator("[role=alert]")).toHaveCount(0);
    await page.keyboard.press("t");
    await expect(page.locator(".tables tbody tr").first()).toBeVisible();
  });
}

test("a run that would fill the visitor's storage is refused", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#v1&device=memory&load=1000000&operations=10000000`);
  await expect(page.getByRole("alert")).toContainText("at most 1 GiB of values; this one has 10.5");
});

test("parameters outside their range are refused in words", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "policy=leveled");
  await type(page.getByRole("textbox", { name: "Workers" }), "0");
  await expect(page.getByRole("alert")).toHaveText(
    "Workers must be a whole number from 1 to 64, not 0.",
  );
  await expect(page.getByRole("textbox", { name: "Workers" })).toHaveValue("4");
  await page.getByRole("button", { name: "with its parameters" }).click();
  const ratio = page.getByRole("spinbutton", { name: /^size ratio/ });
  await type(ratio, "1");
  await expect(page.getByRole("alert")).toContainText("size ratio must be between 2 and 64");
  await type(ratio, "3");
  await expect(page.getByRole("button", { name: "1 parameter changed" })).toBeVisible();
});

test("the picture is read with the keyboard alone", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=900000");
  await page.getByRole("group", { name: /^The tree at/ }).focus();
  await page.keyboard.press("ArrowDown");
  const first = await page.locator("#selected-table").innerText();
  expect(first).toMatch(/^Table \d+, level 0: .* entries/);
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#selected-table")).not.toHaveText(first);
  await page.keyboard.press("Escape");
  await expect(page.locator("#selected-table")).toContainText("Point at a table");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("one decision back or on");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
});

test("the key space is zoomed into, and a link keeps what is shown", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=900000");
  const ends = async (page: Page) => {
    const labels = await page.locator(".axis span").allInnerTexts();
    return [labels.at(0), labels.at(-1)].map((key) => Number.parseInt(key ?? "", 16));
  };
  const all = await ends(page);
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await expect(page.getByRole("button", { name: "4.0×" })).toBeVisible();
  const [from = 0, to = 0] = await ends(page);
  expect(from).toBeGreaterThan(all[0] ?? 0);
  expect(to).toBeLessThan(all[1] ?? 0);
  // The keys are dragged along, and do not leave the space.
  const axis = await page.locator(".axis").boundingBox();
  if (axis === null) throw new Error("no axis");
  const y = axis.y + axis.height / 2;
  await page.mouse.move(axis.x + axis.width / 2, y);
  await page.mouse.down();
  await page.mouse.move(axis.x + axis.width - 5, y, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => (await ends(page))[0]).toBeLessThan(from);
  const dragged = await ends(page);
  // A table that is selected comes into view.
  await page.getByRole("group", { name: /^The tree at/ }).focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#selected-table")).toContainText(/^Table/);
  // Plain keys lie elsewhere.
  const byBytes = await ends(page);
  await page.getByRole("combobox", { name: "Key axis" }).selectOption("Plain keys");
  await expect.poll(() => ends(page)).not.toEqual(byBytes);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByRole("status")).toContainText("link to this moment");
  const shown = await ends(page);
  expect(page.url()).toContain("zoom=");
  expect(page.url()).toContain("axis=keys");
  const other = await context.newPage();
  await other.goto(page.url());
  await simulated(other);
  // A link has positions to less than a pixel.
  for (const [i, end] of (await ends(other)).entries()) expect(end).toBeCloseTo(shown[i] ?? 0, -1);
  await expect(other.getByRole("combobox", { name: "Key axis" })).toHaveValue("keys");
  await page.keyboard.press("x");
  await page.keyboard.press("0");
  expect(await ends(page)).toEqual(all);
  expect(dragged).not.toEqual(all);
  await expect(page.getByRole("button", { name: "Zoom out" })).toBeDisabled();
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing to object to, ${scheme}`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await open(page, origin, "policy=leveled&at=900000");
    await simulated(page);
    const picture = await new AxeBuilder({ page }).analyze();
    expect(picture.violations).toEqual([]);
    await page.keyboard.press("t");
    const text = await new AxeBuilder({ page }).analyze();
    expect(text.violations).toEqual([]);
  });
}

test("background work is told at each moment, by worker, by kind of job and by cause", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(
    context,
    origin,
    "policy=leveled&workers=3&rate=100000&at=900000",
  );
  const panel = page.getByRole("region", { name: "Background work" });
  await expect(panel.getByRole("listitem")).toHaveText([/^worker 1/, /^worker 2/, /^worker 3/]);
  const merges = panel.getByRole("row", { name: /^merges/ });
  await expect(panel).toContainText(/writes waited for .*\d\.\d\d s/);
  await slider(page).press("Home");
  await expect(merges).toHaveText(/merges\s*0\s*0\s*0 bytes/);
});

test("the page fits a phone", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, origin, "policy=leveled&at=900000");
  await simulated(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(360);
});

test("another link in the same tab is followed, and a moment can be left while it is simulated", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=400000");
  await expect(clock(page)).toHaveText("0.40 s");
  await page.evaluate(() => {
    location.hash = "#v1&policy=tiered&load=40000&operations=60000&at=300000&speed=3";
  });
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
  await expect(clock(page)).toHaveText("0.30 s");
  await expect(page.getByRole("combobox", { name: "speed" })).toHaveValue("4");
  await slider(page).press("Home");
  await simulated(page);
  await expect(clock(page)).toHaveText("0.00 s");
});

test("the policy can be changed in mid-run on the engine", async ({ context, origin }) => {
  const page = await context.newPage();
  // It lasts until the policy is changed, however long this test takes.
  await slowDown(page, 20);
  await page.goto(
    `${origin}/demo/#v1&device=opfs&policy=leveled&load=3000&operations=5000&rate=1500`,
  );
  await expect(page.locator(".transport")).toContainText("% done");
  for (const policy of ["bucket", "ptier"]) {
    await page.getByRole("combobox", { name: "Policy" }).selectOption(policy);
    await hurry(page);
    await simulated(page);
  }
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  await slider(page).press("End");
  await expect(page.locator(".strata .names")).toContainText(/Level \d\D* [\d.,]+ MiB/);
});

test("who wants no motion sees a decision a second", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open(page, origin, "policy=leveled&at=200000");
  const still = await page.evaluate(() => matchMedia("(prefers-reduced-motion: reduce)").matches);
  test.skip(!still, "this browser is not told of it");
  await simulated(page);
  await page.keyboard.press(" ");
  for (let step = 0; step < 3; step++) {
    const before = await clock(page).innerText();
    await expect(clock(page)).not.toHaveText(before);
    // Both at once: a second later it is another moment.
    const moment = () =>
      page.evaluate(() => {
        const section = document.querySelector(".right section");
        const decided = section?.querySelector<HTMLElement>("header span")?.innerText;
        const shown = document.querySelector<HTMLElement>(".transport strong")?.innerText;
        return [`decided at ${shown}`, decided];
      });
    await expect.poll(async () => new Set(await moment()).size).toBe(1);
  }
});

test("a table that is selected tells how many share its keys", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=tiered&at=900000");
  await page.getByRole("group", { name: /^The tree at/ }).focus();
  await page.keyboard.press("ArrowDown");
  await expect(page.locator("#selected-table")).toContainText(/key range overlaps [1-9]\d* other/);
});

test("what is pointed at in the log or among the tables is marked in the other views", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=900000");
  const lines = page.getByRole("region", { name: "What the engine did" }).getByRole("listitem");
  await expect(lines.locator("xpath=self::*[contains(@class, 'selected')]")).toHaveCount(0);
  const line = lines.filter({ hasText: /became|flushed/ }).last();
  await line.hover();
  await expect(line).toHaveClass(/selected/);
  await expect(page.locator("#selected-table")).toContainText(/^Table \d+/);
  await expect(page.locator(".made")).toHaveCount(1);
  const id = /^Table (\d+)/.exec(await page.locator("#selected-table").innerText())?.[1] ?? "";
  await page.keyboard.press("t");
  await expect(page.locator(".tables tr.selected")).toContainText(id);
  await page.locator(".tables tbody tr").last().hover();
  await expect(page.locator(".tables tr.selected")).not.toContainText(id);
  await page.keyboard.press("Escape");
  await expect(page.locator(".made")).toHaveCount(0);
});

test("the costs are of the groups at work, and of the compaction so far", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled-full&at=900000");
  const costs = page.getByRole("region", { name: "What it costs", exact: true });
  const read = costs.getByRole("row", { name: /^read/ });
  // To a merge that is in the middle of it.
  for (let step = 0; step < 200; step++) {
    if (/read\s+[\d.]+ MiB\s+[\d.]+ MiB/.test(await read.innerText())) break;
    await page.keyboard.press(".");
  }
  const down = costs.getByRole("row", { name: /^brought down/ });
  await expect(down).toHaveText(/brought down\s*[\d.]+ [MK]iB\s*[\d.]+ [MK]iB/);
  await slider(page).press("Home");
  await expect(read).toHaveText(/read\s*–\s*0 bytes/);
});

test("nothing jumps while the page loads and a tree is seen to move", async ({
  context,
  origin,
  browserName,
}) => {
  test.skip(browserName === "firefox", "Firefox reports no layout shifts");
  const page = await context.newPage();
  // On a busy machine the page does not wait for its fonts, and has other lines once they are there.
  await page.route("**/*.woff2", (route) => route.abort());
  await page.addInitScript(() => {
    window.shifted = [];
    new PerformanceObserver((list) => {
      for (const { sources } of list.getEntries() as LayoutShifts[])
        for (const { node, previousRect, currentRect } of sources)
          // What is wider or narrower starts elsewhere in its line; what jumps goes up or down.
          if (node instanceof Element && Math.abs(previousRect.y - currentRect.y) > 8)
            window.shifted.push(node.className || node.nodeName);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await open(page, origin, "");
  await expect(page.locator(".transport")).toContainText(/decision ([2-9]|\d\d)/);
  const blocks = ["MAIN", "H1", "NAV", "left", "right", "stage", "time", "ribbon", "track"];
  const shifted = await page.evaluate(() => window.shifted);
  expect(shifted.filter((name) => blocks.includes(name))).toEqual([]);
});
