/** The visualizer with the visitor's own store: what is loaded is all there, in order, and survives a reload. */

import { AxeBuilder } from "@axe-core/playwright";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, full, type Locator, type Page, test } from "./fixtures.ts";
import { patient } from "./patience.ts";
import { open, readToTheEnd, slider, type } from "./visualizer.ts";

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

const panel = (page: Page, name: string) => page.getByRole("region", { name });
const loaded = (page: Page) => panel(page, "Load").getByRole("status");

/** The value of a figure of the store. */
function figure(page: Page, name: string): Locator {
  const named = page.getByText(name, { exact: true });
  return page.locator(".figures div").filter({ has: named }).locator("dd");
}

async function counted(page: Page): Promise<void> {
  await expect(panel(page, "Your store")).toContainText("all keys read");
}

async function openOwn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/demo/#store`);
  await counted(page);
}

async function loadFile(page: Page, path: string): Promise<void> {
  const load = panel(page, "Load");
  await load.locator("input[type=file]").setInputFiles(path);
  await load.getByRole("button", { name: "load" }).click();
  await expect(loaded(page)).toContainText("Loaded", { timeout: patient(330_000) });
}

/** Reads a key to the end; returns its value, or the message that there is none. */
async function lookUp(page: Page, key: string): Promise<string> {
  const reading = page.locator(".reading");
  if (!(await reading.isVisible())) await page.getByRole("button", { name: "Read a key" }).click();
  await reading.getByRole("textbox").fill(key);
  await reading.getByRole("button", { name: /^Read/ }).click();
  await readToTheEnd(reading);
  return (await reading.locator("output").textContent()) ?? "";
}

test("300,000 package names are found, also after a reload", async ({
  context,
  origin,
  storePage,
}) => {
  const names = packageNames(full ? 2_000_000 : 300_000);
  const page = await context.newPage();
  await openOwn(page, origin);
  await loadFile(page, file("names.txt", `${names.join("\n")}\n`));
  const count = new Intl.NumberFormat("en").format(names.length);
  await expect(loaded(page)).toContainText(`Loaded ${count} rows`);
  await expect(figure(page, "keys")).toHaveText(count);
  await page.reload();
  await expect(figure(page, "keys")).toHaveText(count);
  for (let i = 0; i < 20; i++) {
    const at = (i * 7_919_000_009) % names.length;
    expect(await lookUp(page, names[at] ?? "")).toBe(`${at + 1}`);
  }
  expect(await lookUp(page, "no such package!")).toContain("No such key");
  const upkeep = panel(page, "Upkeep");
  await upkeep.getByRole("button", { name: "check every byte" }).click();
  await expect(upkeep.getByRole("status")).toContainText("No damage found");
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
  await openOwn(page, origin);
  const keys = async () => Number((await figure(page, "keys").textContent())?.replaceAll(",", ""));
  const load = panel(page, "Load");
  let before = 0;
  for (const pause of [40, 120, 200]) {
    await load.locator("input[type=file]").setInputFiles(path);
    await load.getByRole("button", { name: "load" }).click();
    await expect(load).toContainText("rows/s");
    await page.waitForTimeout(pause);
    await page.reload();
    await counted(page);
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
  await panel(page, "Load").getByRole("button", { name: "weather readings" }).click();
  await expect(loaded(page)).toContainText("Loaded 300,000 rows", { timeout: patient(330_000) });
  await expect(figure(page, "keys")).toHaveText("300,000");
}

test("the tree shows every table, during a load and after a reload", async ({
  context,
  origin,
  storePage,
}) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  await loadWeather(page);
  await expect(figure(page, "write amplification")).toHaveText(/^\d+\.\d×$/);
  await expect(panel(page, "Your store")).toContainText("MiB of its quota");
  const log = panel(page, "What the engine did");
  await slider(page).press("Home");
  await page.locator("h1").click();
  await page.keyboard.press("k");
  await expect(panel(page, "Why now")).toContainText(/level 0 has .* runs/i);
  await expect(log).toContainText("memtable flushed");
  await slider(page).press("End");
  await expect(log).toContainText(/\d+ tables? became \d+ in level/);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  // The last writes reach a table when the store is opened again.
  await page.reload();
  await counted(page);
  expect(await lookUp(page, "oslo/2026-05-17T12")).toMatch(/^ *[-\d.]+ C, \d+ %, +\d+ hPa$/);
  await page.close();

  // A compaction may come between the picture and the look at the store: then both are taken again.
  const other = await storePage();
  await expect(async () => {
    const again = await context.newPage();
    await openOwn(again, origin);
    await again.keyboard.press("t");
    const drawn = await again.locator(".tables tbody td:nth-child(3)").allInnerTexts();
    await expect(figure(again, "tables")).toHaveText(String(drawn.length));
    await again.close();
    const tables = await other.evaluate(async () => {
      const db = await window.terrane.open("demo");
      const levels = await db.levels();
      await db.close();
      const runs = levels.flatMap(({ runs }) => runs);
      return runs.flatMap((run) => run.tables.map(({ id }) => `${id}`));
    });
    expect(drawn.length).toBeGreaterThan(0);
    expect(drawn.sort()).toEqual(tables.sort());
  }).toPass({ timeout: patient(180_000) });
});

test("a read and a scan are described place by place", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  await loadWeather(page);
  const places = page.locator(".reading li");
  await lookUp(page, "zagreb/2026-03-01T06");
  await expect(places.last()).toContainText(/table \d+.*found \(write [\d,]+\); 1 block from/s);
  expect(await lookUp(page, "zagreb/none")).toContain("No such key");
  await expect(places.last()).toContainText(/filter: no|for nothing|absent/);

  const scan = panel(page, "Scan a range");
  await scan.getByLabel("from").fill("oslo/2026-05-17");
  await scan.getByRole("button", { name: "scan" }).click();
  await expect(scan.locator("td").first()).toHaveText("oslo/2026-05-17T00");
  const first = places.filter({ hasText: "the first entry" });
  await expect(first).toContainText("at oslo/2026-05-17T00");
  await expect(page.locator(".reading .sum")).toContainText("The first key of the range was found");
});

test("a changed policy and its parameters survive a reload", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  const policy = page.getByRole("combobox", { name: "Policy", exact: true });
  await expect(policy).toHaveValue("leveled");
  await policy.selectOption("tiered");
  const log = panel(page, "What the engine did");
  await expect(log).toContainText("the policy is now tiered");
  await page.locator(".sentence").getByRole("button", { name: /^with/ }).click();
  const ratio = page.locator("#parameters").getByLabel("size ratio");
  await type(ratio, "1");
  await expect(page.getByRole("alert")).toContainText("size ratio must be between");
  await type(ratio, "3");
  await expect(page.locator(".sentence")).toContainText("size ratio 3");
  await expect(page.getByRole("alert")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await loadWeather(page);
  await expect(panel(page, "Why now")).toContainText(/of 3 runs: all become one run/);
  await page.reload();
  await expect(policy).toHaveValue("tiered");
  await expect(page.locator(".sentence")).toContainText("size ratio 3");
});

test("every policy can be chosen", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  const policy = page.getByRole("combobox", { name: "Policy", exact: true });
  // Their names are spelled as in prose.
  const names = await policy.locator("option").allInnerTexts();
  expect(names).toContain("horizontal leveling");
  // The first change is to another than the store has.
  for (const name of [...names.filter((name) => name !== "leveled"), "leveled"]) {
    await policy.selectOption({ label: name });
    const log = panel(page, "What the engine did");
    await expect(log.getByText(`the policy is now ${name}`, { exact: true })).toBeVisible();
  }
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("small screens do not overflow", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.setViewportSize({ width: 320, height: 640 });
  await openOwn(page, origin);
  await loadWeather(page);
  await panel(page, "Scan a range").getByRole("button", { name: "scan" }).click();
  await expect(page.locator(".reading .sum")).toBeVisible();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(320);
});

test("a stopped load keeps what it wrote", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  // A pause of the slow load lasts until this test ends it.
  await page.evaluate(() => {
    const { setTimeout: later } = window;
    window.setTimeout = ((body: () => void, milliseconds: number) => {
      if (milliseconds !== 80) return later(body, milliseconds);
      return Object.assign(window, { endPause: body }) && 0;
    }) as typeof later;
  });
  const load = panel(page, "Load");
  await load.getByLabel("slowly, to watch").check();
  await load.getByRole("button", { name: "weather readings" }).click();
  await expect(load).toContainText("2,000 rows, ");
  await page.evaluate("endPause()");
  await expect(load).toContainText("4,000 rows, ");
  await load.getByRole("button", { name: "stop" }).click();
  await page.evaluate("endPause()");
  await expect(loaded(page)).toContainText("Stopped");
  await expect(figure(page, "keys")).toHaveText("4,000");
});

test("columns of TSV, CSV and NDJSON become keys and values", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  const rows = 'id,"the name"\r\n1,"Ada, Countess"\r\n2,"a ""quoted""\r\nword"\r\n3,\r\n';
  await loadFile(page, file("people.csv", rows));
  expect(await lookUp(page, "1")).toBe("Ada, Countess");
  expect(await lookUp(page, "2")).toBe('a "quoted"\nword');
  await loadFile(page, file("cities.tsv", "city\tpopulation\nOslo\t709037\nBergen\t291940"));
  expect(await lookUp(page, "Bergen")).toBe("291940");
  await loadFile(page, file("items.ndjson", '{"sku":"x1","at":{"row":3}}\n{"sku":"x2","at":4}\n'));
  expect(await lookUp(page, "x1")).toBe('{"row":3}');
  expect(await lookUp(page, "x2")).toBe("4");
  await expect(figure(page, "keys")).toHaveText("7");
});

test("a scan shows a range in pages, in both directions", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  const lines = Array.from({ length: 250 }, (_, i) => `${i}`.padStart(3, "0"));
  await loadFile(page, file("lines.txt", lines.toReversed().join("\n")));
  const panelOf = panel(page, "Scan a range");
  const keys = () => panelOf.locator("td:first-child").allTextContents();
  const scan = panelOf.getByRole("button", { name: "scan" });
  await scan.click();
  await expect(panelOf.locator("tbody tr")).toHaveCount(100);
  await panelOf.getByRole("button", { name: "show more" }).click();
  await expect(panelOf.locator("tbody tr")).toHaveCount(200);
  await panelOf.getByRole("button", { name: "show more" }).click();
  await expect(panelOf.locator("tbody tr")).toHaveCount(250);
  expect(await keys()).toEqual(lines);
  await panelOf.getByLabel("from").fill("100");
  await panelOf.getByLabel("up to").fill("102");
  await panelOf.getByLabel("last key first").check();
  await scan.click();
  await expect(panelOf.getByRole("status")).toContainText("3 keys");
  expect(await keys()).toEqual(["102", "101", "100"]);
});

test("a file that is not text is rejected, and the page continues", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  const path = join(folder, "noise.txt");
  writeFileSync(path, Buffer.from([0x61, 0x0a, 0xff, 0xfe, 0x0a]));
  const load = panel(page, "Load");
  await load.locator("input[type=file]").setInputFiles(path);
  await load.getByRole("button", { name: "load" }).click();
  await expect(load.getByRole("alert")).toContainText("not text in UTF-8");
  await loadFile(page, file("fine.txt", "a\nb\n"));
  await expect(figure(page, "keys")).toHaveText("2");
});

test("a second tab shows the same store, and keeps it", async ({ context, origin }) => {
  const first = await context.newPage();
  await openOwn(first, origin);
  await loadFile(first, file("two.txt", "a\nb\n"));
  const second = await context.newPage();
  await openOwn(second, origin);
  await expect(figure(second, "keys")).toHaveText("2");
  await first.close();
  await loadFile(second, file("one.txt", "c\n"));
  await expect(figure(second, "keys")).toHaveText("3");
});

test("deleting everything needs a confirmation", async ({ context, origin }) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  await loadFile(page, file("some.txt", "a\nb\nc\n"));
  await page.getByRole("button", { name: "delete everything" }).click();
  await page.getByRole("button", { name: "Keep" }).click();
  await expect(figure(page, "keys")).toHaveText("3");
  await page.getByRole("button", { name: "delete everything" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(figure(page, "keys")).toHaveText("0");
  await page.reload();
  await counted(page);
  await expect(figure(page, "keys")).toHaveText("0");
});

test("an exported store opens as a copy, and the own one is there again", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await openOwn(page, origin);
  await loadFile(page, file("some.txt", "a\nb\nc\n"));
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "export" }).click();
  const path = join(folder, "copy.terrane");
  await (await download).saveAs(path);
  await page.locator("#files input[type=file]").setInputFiles(path);
  const copy = panel(page, "This store");
  await expect(figure(page, "keys")).toHaveText("3");
  expect(new URL(page.url()).hash).toBe("");
  await copy.getByRole("textbox", { name: "key" }).fill("d");
  await copy.getByRole("button", { name: "put" }).click();
  await expect(figure(page, "keys")).toHaveText("4");
  await page.getByRole("link", { name: "Your own store" }).click();
  await counted(page);
  await expect(figure(page, "keys")).toHaveText("3");
});

test("closing the own store leads back to the workload", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await page.keyboard.press("y");
  await counted(page);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.locator("p.shared")).toContainText("no link leads to it");
  await page.getByRole("button", { name: "close" }).click();
  await expect(page.locator(".opened")).toHaveCount(0);
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
  expect(new URL(page.url()).hash).toBe("");
});
