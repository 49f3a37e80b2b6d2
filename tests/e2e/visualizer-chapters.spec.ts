/** The chapters: each has an example to try and a question that is predicted, then measured. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page, test } from "./fixtures.ts";
import { simulated, type } from "./visualizer.ts";

const CHAPTERS = [
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
async function predict(page: Page, guess: string): Promise<number[]> {
  await expect(page.locator(".question input").first()).toBeVisible();
  for (const field of await page.locator(".question input").all()) await type(field, guess);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.locator(".question [role=status]")).not.toBeEmpty();
  await expect(page.locator(".question [role=alert]")).toHaveCount(0);
  return (await page.locator(".question .measured b").allInnerTexts()).map(Number);
}

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
