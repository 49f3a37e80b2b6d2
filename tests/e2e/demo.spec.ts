/** The demo page, by its visible controls: what a visitor loads is all there, in order. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, full, type Page, test } from "./fixtures.ts";
import { patient } from "./patience.ts";

/** Returns the names of `count` packages of npm: real keys, in an order that is not theirs. */
function packageNames(count: number): string[] {
  const path = createRequire(import.meta.url).resolve("all-the-package-names");
  const names = JSON.parse(readFileSync(path, "utf8")) as string[];
  return names.slice(0, count);
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

let folder: string;
test.beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "terrane-files-"));
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function openDemo(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/demo/store.html`);
  await expect(page.locator("#state")).toContainText("Opened");
}

async function loadFile(page: Page, path: string): Promise<void> {
  await page.locator("#file").setInputFiles(path);
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await expect(page.locator("#loaded")).toContainText("Loaded", { timeout: patient(330_000) });
}

async function lookUp(page: Page, key: string): Promise<string> {
  await page.getByLabel("Key", { exact: true }).last().fill(key);
  await page.locator("#value").evaluate((output) => {
    output.textContent = "";
  });
  await page.getByRole("button", { name: "Get" }).click();
  await expect(page.locator("#value")).not.toBeEmpty();
  return (await page.locator("#value").textContent()) ?? "";
}

test("300,000 package names are found, also after a reload", async ({
  context,
  origin,
  storePage,
}) => {
  const names = packageNames(full ? 2_000_000 : 300_000);
  const page = await context.newPage();
  await openDemo(page, origin);
  await loadFile(page, file("names.txt", `${names.join("\n")}\n`));
  const count = new Intl.NumberFormat("en").format(names.length);
  await expect(page.locator("#loaded")).toContainText(`Loaded ${count} rows`);
  await expect(page.locator("#keys")).toHaveText(count);
  await page.reload();
  await expect(page.locator("#state")).toContainText("All keys read");
  await expect(page.locator("#keys")).toHaveText(count);
  for (let i = 0; i < 20; i++) {
    const at = (i * 7_919_000_009) % names.length;
    expect(await lookUp(page, names[at] ?? "")).toBe(`${at + 1}`);
  }
  expect(await lookUp(page, "no such package!")).toContain("No such key");
  await page.getByRole("button", { name: "Check every byte" }).click();
  await expect(page.locator("#maintained")).toContainText("No damage found");
  await page.close();

  // Every pair against the list, by the package itself on the same origin.
  const other = await storePage();
  const expected = names.map((name, i) => [name, `${i + 1}`] as const);
  expected.sort(([a], [b]) => byBytes(a, b));
  await context.route("**/expected.json", (route) => route.fulfill({ json: expected }));
  const mismatch = await other.evaluate(async () => {
    const pairs = (await (await fetch("/expected.json")).json()) as [string, string][];
    const db = await window.terrane.open("demo");
    let at = 0;
    for await (const [key, value] of db.entries()) {
      const [wantedKey, wantedValue] = pairs[at] ?? [];
      if (key !== wantedKey || value !== wantedValue) return { at, key, value, wantedKey };
      at += 1;
    }
    return at === pairs.length ? undefined : { at };
  });
  expect(mismatch).toBeUndefined();
});

test("a reload interrupts a load, which can be repeated", async ({ context, origin }) => {
  const names = packageNames(200_000);
  const path = file("cut.txt", names.join("\n"));
  const page = await context.newPage();
  await openDemo(page, origin);
  const keys = async () => Number((await page.locator("#keys").textContent())?.replaceAll(",", ""));
  let before = 0;
  for (const pause of [40, 120, 200]) {
    await page.locator("#file").setInputFiles(path);
    await page.getByRole("button", { name: "Load", exact: true }).click();
    await expect(page.locator("#rate")).toContainText("rows/s");
    await page.waitForTimeout(pause);
    await page.reload();
    await expect(page.locator("#state")).toContainText("All keys read");
    const found = await keys();
    expect(found).toBeGreaterThanOrEqual(before);
    if (found > 0) expect(await lookUp(page, names[found - 1] ?? "")).toBe(`${found}`);
    if (found < names.length) expect(await lookUp(page, names[found] ?? "")).toContain("No such");
    before = found;
  }
  expect(before).toBeGreaterThan(0);
  await loadFile(page, path);
  await expect.poll(keys).toBe(names.length);
});

/** Loads the readings that come with the page. */
async function loadWeather(page: Page): Promise<void> {
  await page.getByRole("button", { name: "weather readings" }).click();
  const loaded = page.locator("#loaded");
  await expect(loaded).toContainText("Loaded 300,000 rows", { timeout: patient(330_000) });
  await expect(page.locator("#state")).toContainText("All keys read");
}

/** The numbers of the tables that the picture shows, once it rests. */
async function drawnTables(page: Page): Promise<string[]> {
  const rectangles = page.locator("#tree .table:not([data-origin])");
  let before = -1;
  await expect
    .poll(async () => {
      const now = await rectangles.count();
      const moving = await page.locator("#tree [data-origin]").count();
      const rests = now === before && moving === 0;
      before = now;
      return rests;
    })
    .toBe(true);
  const ids = await rectangles.evaluateAll((all) => all.map((one) => one.getAttribute("data-id")));
  return ids.map(String).sort();
}

test("the tree shows every table, during a load and after a reload", async ({
  context,
  origin,
  storePage,
}) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  await expect(page.locator("#tree")).toHaveAttribute("aria-label", /newest data first/);
  // A table is marked for a moment only.
  await page.evaluate(() => {
    const marks = new Set<string>();
    const note = (records: MutationRecord[]) => {
      for (const { target } of records) {
        marks.add((target as Element).getAttribute("data-origin") ?? "");
      }
    };
    const tree = document.getElementById("tree");
    if (tree === null) throw new Error("no tree");
    new MutationObserver(note).observe(tree, { subtree: true, attributeFilter: ["data-origin"] });
    Object.assign(window, { marks });
  });
  await page.getByRole("button", { name: "weather readings" }).click();
  const loaded = page.locator("#loaded");
  await expect(loaded).toContainText("Loaded 300,000 rows", { timeout: patient(330_000) });
  const marks = () => page.evaluate(() => [...(window as unknown as { marks: string[] }).marks]);
  await expect.poll(marks).toEqual(expect.arrayContaining(["flushed", "merged"]));
  await expect(page.locator("#keys")).toHaveText("300,000");
  await expect(page.locator("#amplification")).toHaveText(/^\d+\.\d×$/);
  await expect(page.locator("#usage")).toContainText("MiB of its quota");
  const log = page.locator("#log li");
  await expect(log.filter({ hasText: "Flushed" })).not.toHaveCount(0);
  await expect(log.filter({ hasText: /^Merged \d+ tables? into/ })).not.toHaveCount(0);
  await expect(log.filter({ hasText: /level 0 has .* runs/ })).not.toHaveCount(0);
  // The last writes reach a table when the store is opened again.
  await page.reload();
  await expect(page.locator("#state")).toContainText("All keys read");
  expect(await lookUp(page, "oslo/2026-05-17T12")).toMatch(/^ *[-\d.]+ C, \d+ %, +\d+ hPa$/);
  await page.close();

  // A compaction may come between the picture and the look at the store: then both are taken again.
  const other = await storePage();
  await expect(async () => {
    const again = await context.newPage();
    await openDemo(again, origin);
    await expect(again.locator("#state")).toContainText("All keys read");
    const drawn = await drawnTables(again);
    await expect(again.locator("#tables")).toHaveText(String(drawn.length));
    await again.close();
    const tables = await other.evaluate(async () => {
      const db = await window.terrane.open("demo");
      const levels = await db.levels();
      await db.close();
      const runs = levels.flatMap(({ runs }) => runs);
      return runs.flatMap((run) => run.tables.map(({ id }) => `${id}`));
    });
    expect(drawn.length).toBeGreaterThan(0);
    expect(drawn).toEqual(tables.sort());
  }).toPass({ timeout: patient(180_000) });
});

test("a read's trace is described and shown in the tree", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  await loadWeather(page);
  await drawnTables(page);
  await lookUp(page, "zagreb/2026-03-01T06");
  const end = page.locator("#get-trace li").last();
  await expect(end).toContainText(
    /the filter says maybe; a block of .* from the .*; found, \d+ bytes/,
  );
  const named = /table (\d+)/.exec((await end.textContent()) ?? "")?.[1];
  await expect(page.locator("#tree [data-visit=found]")).toHaveAttribute("data-id", String(named));
  await expect(page.locator("#tree .key[data-shown]")).toHaveCount(1);
  await lookUp(page, "zagreb/none");
  await expect(page.locator("#tree [data-visit=found]")).toHaveCount(0);
  await expect(page.locator("#get-trace li").last()).toContainText(/says no|not there|covers/);

  await page.getByLabel("From").fill("oslo/2026-05-17");
  await page.getByRole("button", { name: "Scan" }).click();
  await expect(page.locator("#entries td").first()).toHaveText("oslo/2026-05-17T00");
  const first = page.locator("#scan-trace li").filter({ hasText: "this is the first entry" });
  await expect(first).toContainText("at oslo/2026-05-17T00");
  await expect(page.locator("#tree [data-visit=found]")).toHaveCount(1);
});

test("a changed policy and its parameters survive a reload", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  const now = page.locator("#policy-now");
  await expect(now).toHaveText("The store uses leveled.");
  await page.getByRole("combobox", { name: "Policy", exact: true }).selectOption("tiered");
  await page.getByLabel("size ratio").fill("1");
  await page.getByRole("button", { name: "Switch" }).click();
  await expect(page.getByRole("alert")).toContainText("sizeRatio");
  await expect(now).toHaveText("The store uses leveled.");
  await page.getByLabel("size ratio").fill("3");
  await page.getByRole("button", { name: "Switch" }).click();
  await expect(now).toHaveText("The store uses tiered.");
  await expect(page.getByRole("alert")).toBeHidden();
  await expect(page.locator("#log")).toContainText("The policy is now tiered");
  await loadWeather(page);
  await expect(page.locator("#log")).toContainText(/of 3 runs: all become one run/);
  await page.reload();
  await expect(now).toHaveText("The store uses tiered.");
  await expect(page.getByLabel("size ratio")).toHaveValue("3");
});

test("every policy can be chosen", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  const options = page.getByRole("combobox", { name: "Policy", exact: true });
  const names = await options
    .locator("option")
    .evaluateAll((all) => all.map((one) => (one as HTMLOptionElement).value));
  expect(names).toContain("horizontal-leveling");
  for (const name of names) {
    await options.selectOption(name);
    await page.getByRole("button", { name: "Switch" }).click();
    await expect(page.locator("#policy-now")).toHaveText(`The store uses ${name}.`);
  }
});

test("tables work by keyboard, and small screens do not overflow", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 320, height: 640 });
  await openDemo(page, origin);
  await loadWeather(page);
  await drawnTables(page);
  const detail = page.locator("#table-detail");
  await page.locator("#tree").focus();
  await page.keyboard.press("ArrowDown");
  await expect(detail).toContainText(/^Table \d+: .* entries, /);
  // The deepest level holds every key.
  for (let row = 0; row < 20; row++) await page.keyboard.press("ArrowDown");
  for (let table = 0; table < 200; table++) await page.keyboard.press("ArrowLeft");
  await expect(detail).toContainText(", accra/2026-01-01T00 to");
  await page.keyboard.press("ArrowRight");
  await expect(detail).not.toContainText(", accra/2026-01-01T00 to");
  await page.keyboard.press("Escape");
  await expect(detail).toBeEmpty();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(320);
});

test("a stopped load keeps what it wrote", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  // The first pause of the slow load lasts until this test has it end.
  await page.evaluate(() => {
    const { setTimeout: later } = window;
    window.setTimeout = ((body: () => void, milliseconds: number) => {
      if (milliseconds !== 80) return later(body, milliseconds);
      return Object.assign(window, { endPause: body }) && 0;
    }) as typeof later;
  });
  await page.getByLabel("Slowly, to watch").check();
  await page.getByRole("button", { name: "weather readings" }).click();
  await expect(page.locator("#rate")).toContainText("2,000 rows, ");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.evaluate("endPause()");
  await expect(page.locator("#loaded")).toContainText("Stopped");
  await expect(page.locator("#keys")).toHaveText("2,000");
});

test("columns of TSV, CSV and NDJSON become keys and values", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  const rows = 'id,"the name"\r\n1,"Ada, Countess"\r\n2,"a ""quoted""\r\nword"\r\n3,\r\n';
  await loadFile(page, file("people.csv", rows));
  expect(await lookUp(page, "1")).toBe("Ada, Countess");
  expect(await lookUp(page, "2")).toBe('a "quoted"\nword');
  await loadFile(page, file("cities.tsv", "city\tpopulation\nOslo\t709037\nBergen\t291940"));
  expect(await lookUp(page, "Bergen")).toBe("291940");
  await loadFile(page, file("items.ndjson", '{"sku":"x1","at":{"row":3}}\n{"sku":"x2","at":4}\n'));
  expect(await lookUp(page, "x1")).toBe('{"row":3}');
  expect(await lookUp(page, "x2")).toBe("4");
  await expect(page.locator("#keys")).toHaveText("7");
});

test("a scan shows a range in pages, in both directions", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  const lines = Array.from({ length: 250 }, (_, i) => `${i}`.padStart(3, "0"));
  await loadFile(page, file("lines.txt", lines.toReversed().join("\n")));
  const keys = () => page.locator("#entries td:first-child").allTextContents();
  const scan = page.getByRole("button", { name: "Scan" });
  await scan.click();
  await expect(page.locator("#entries tr")).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(page.locator("#entries tr")).toHaveCount(250);
  expect(await keys()).toEqual(lines);
  await page.getByLabel("From").fill("100");
  await page.getByLabel("Up to").fill("102");
  await page.getByLabel("Last key first").check();
  await scan.click();
  await expect(page.locator("#scanned")).toContainText("3 keys");
  expect(await keys()).toEqual(["102", "101", "100"]);
});

test("a file that is not text is rejected, and the page continues", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  const path = join(folder, "noise.txt");
  writeFileSync(path, Buffer.from([0x61, 0x0a, 0xff, 0xfe, 0x0a]));
  await page.locator("#file").setInputFiles(path);
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("not text in UTF-8");
  await loadFile(page, file("fine.txt", "a\nb\n"));
  await expect(page.locator("#keys")).toHaveText("2");
});

test("a second tab says who has the store and can take over", async ({ context, origin }) => {
  const first = await context.newPage();
  await openDemo(first, origin);
  const second = await context.newPage();
  await second.goto(`${origin}/demo/store.html`);
  await expect(second.getByRole("alert")).toContainText(
    `open in another tab, ${origin}/demo/store.html, since`,
  );
  await first.close();
  await second.getByRole("button", { name: "Try again" }).click();
  await expect(second.locator("#state")).toContainText("Opened");
});

test("deleting everything needs a confirmation", async ({ context, origin }) => {
  const page = await context.newPage();
  await openDemo(page, origin);
  await loadFile(page, file("some.txt", "a\nb\nc\n"));
  await page.getByRole("button", { name: "Delete everything" }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await expect(page.locator("#keys")).toHaveText("3");
  await page.getByRole("button", { name: "Delete everything" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page.locator("#keys")).toHaveText("0");
  await page.reload();
  await expect(page.locator("#state")).toContainText("It is empty");
});
