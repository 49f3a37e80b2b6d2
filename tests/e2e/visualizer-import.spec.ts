/** The visualizer with an exported store: it is opened as it is, changed by hand, and gone when it is closed. */

import { AxeBuilder } from "@axe-core/playwright";
import { expect, openStorePage, type Page, test } from "./fixtures.ts";
import { headings, open, readToTheEnd } from "./visualizer.ts";

/** Number of keys in the exported store. */
const KEYS = 2000;

/** Exports a store from a page of the package's own, as the bytes of a file. */
async function exported(page: Page): Promise<Buffer> {
  const base64 = await page.evaluate(async (keys) => {
    const db = await window.terrane.open("exported", {
      policy: { policy: "tiered", sizeRatio: 7 },
    });
    // Two runs in level 0, and a small keyspace besides.
    for (const round of ["old", "new"]) {
      const put = (_: unknown, i: number) =>
        ({ type: "put", key: `key${i}`, value: `${round} ${"x".repeat(50)}` }) as const;
      await db.batch(Array.from({ length: keys }, put));
      await db.flush();
    }
    await db.keyspace("users", { policy: "leveled" }).put("ada", "1");
    await db.flush();
    const bytes = await new Response(await db.export()).bytes();
    await db.close();
    let binary = "";
    for (let at = 0; at < bytes.length; at += 0x8000) {
      binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    return btoa(binary);
  }, KEYS);
  return Buffer.from(base64, "base64");
}

async function openFile(page: Page, name: string, buffer: Buffer): Promise<void> {
  const file = { name, mimeType: "application/octet-stream", buffer };
  await page.locator("#files input[type=file]").setInputFiles(file);
}

/** The stores of the origin. */
function stores(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const names: string[] = [];
    for await (const name of (await root.getDirectoryHandle("terrane")).keys()) names.push(name);
    return names.sort();
  });
}

/** Reads a key to the end, and returns what is found in sum. */
async function read(page: Page, key: string): Promise<string> {
  const form = page.locator(".reading form");
  await form.getByRole("textbox").fill(key);
  await form.getByRole("button", { name: /^Read/ }).click();
  return readToTheEnd(page.locator(".reading"));
}

test("an exported store is shown as it is, and is gone when it is closed", async ({
  context,
  origin,
}) => {
  const own = await openStorePage(context, origin);
  const file = await exported(own);
  const page = await context.newPage();
  const told = await headings(page);
  await open(page, origin, "policy=leveled");
  await openFile(page, "mine.terrane", file);
  await expect(page.locator(".opened")).toContainText("mine.terrane");
  await expect(page.locator(".transport")).toContainText("live");
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
  await expect(page.locator(".sentence")).toContainText("with size ratio 7");
  await expect(page.locator(".strata .names")).toContainText(
    /1 table 1 of 7 runs|2 tables 2 of 7 runs/,
  );
  await page.keyboard.press("t");
  const tables = page.locator(".tables tbody tr");
  const there = await own.evaluate(async () => {
    const db = await window.terrane.open("exported");
    const levels = await db.levels();
    await db.close();
    return levels.flatMap(({ runs }, level) =>
      runs.flatMap(({ id, tables }) =>
        tables.map((table) => `${level} ${id} ${table.entries.toLocaleString("en")}`),
      ),
    );
  });
  expect(there.length).toBeGreaterThan(0);
  const shown = async () => {
    const rows = await tables.all();
    return Promise.all(
      rows.map(async (row) => {
        const cells = await row.locator("td").allInnerTexts();
        return `${cells[0]} ${cells[1]} ${cells[4]}`;
      }),
    );
  };
  await expect.poll(shown).toEqual(there);
  await page.keyboard.press("t");
  await page.keyboard.press("r");
  expect(await read(page, "key1999")).toContain("The key was found");
  expect(await read(page, "key2000")).toContain("No place has the key");
  expect(await told()).toMatch(/mine\.terrane is copied: \d+ %/);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.locator("p.shared")).toContainText("No link leads to");
  expect(await stores(page)).toEqual(["exported", "visualizer-import"]);
  await page.getByRole("button", { name: "close" }).click();
  await expect(page.locator(".opened")).toHaveCount(0);
  await expect.poll(() => stores(page)).toEqual(["exported"]);
  await expect(page.locator("[role=alert]")).toHaveCount(0);
});

test("an imported store is changed by hand, and goes on under another policy", async ({
  context,
  origin,
}) => {
  const file = await exported(await openStorePage(context, origin));
  const page = await context.newPage();
  await open(page, origin, "policy=leveled");
  await openFile(page, "mine.terrane", file);
  const store = page.getByRole("region", { name: "This store" });
  await store.getByRole("textbox", { name: "key" }).fill("zebra");
  await store.getByRole("textbox", { name: "value" }).fill("striped");
  await store.getByRole("button", { name: "put" }).click();
  await expect(store.getByRole("status")).toContainText("zebra was put");
  await store.getByRole("button", { name: "flush" }).click();
  await page.keyboard.press("t");
  const tables = page.locator(".tables tbody tr");
  await expect(tables.filter({ hasText: "zebra" }).first()).toContainText("flushed");
  await store.getByRole("button", { name: "compact" }).click();
  await expect(tables).toHaveCount(1);
  await expect(tables).toContainText(`${(KEYS + 1).toLocaleString("en")}`);
  await store.getByRole("textbox", { name: "key" }).fill("key7");
  await store.getByRole("button", { name: "delete" }).click();
  await expect(store.getByRole("status")).toContainText("key7 was deleted");
  await page.getByRole("combobox", { name: "Policy" }).selectOption("bucket");
  await expect(page.locator(".sentence")).toContainText("with its default parameters");
  await page.keyboard.press("t");
  await page.keyboard.press("r");
  expect(await read(page, "key7")).toContain("The key is deleted");
  expect(await read(page, "zebra")).toContain("The key was found");
  await store.getByRole("combobox", { name: "keyspace" }).selectOption("users");
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("leveled");
  expect(await read(page, "ada")).toContain("The key was found");
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  // The next import takes the place of this one.
  await openFile(page, "again.terrane", file);
  await expect(page.locator(".opened")).toContainText("again.terrane");
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
  await expect.poll(() => stores(page)).toEqual(["exported", "visualizer-import"]);
});

test("a file that is damaged or no store is refused with what was found", async ({
  context,
  origin,
}) => {
  const whole = await exported(await openStorePage(context, origin));
  const page = await context.newPage();
  await open(page, origin, "policy=tiered&p.sizeRatio=5");
  const refused = async (name: string, file: Buffer, why: RegExp) => {
    await openFile(page, name, file);
    const alert = page.locator(".sentence [role=alert]");
    await expect(alert).toContainText(name);
    expect(await alert.innerText()).toMatch(why);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(`${name} is not shown.`);
    await expect.poll(() => stores(page)).toEqual(["exported"]);
  };
  await refused("cut.terrane", whole.subarray(0, 100_000), /damaged.*expected .*found/);
  const damaged = Buffer.from(whole);
  // What the footer of a table ends with: before the footer lie the table's other parts.
  const end = damaged.indexOf("TERRANE\x02", "latin1");
  for (let at = end - 200; at < end - 100; at += 7) damaged[at] = 0x5a ^ (damaged[at] ?? 0);
  await refused("damaged.terrane", damaged, /sst is damaged at byte \d+: expected .*found/);
  const none = /expected an exported store.s bytes, found (others|none)/;
  await refused("noise.terrane", Buffer.alloc(100_000, "x"), none);
  await refused("empty.terrane", Buffer.alloc(0), none);
  // One that is whole is shown after all of them; then come the visitor's own settings again.
  await openFile(page, "whole.terrane", whole);
  await expect(page.locator(".sentence")).toContainText("with size ratio 7");
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  await page.getByRole("button", { name: "close" }).click();
  await expect(page.locator(".sentence")).toContainText("with 1 parameter changed");
});

test("another tab leaves the imported store of this one alone", async ({ context, origin }) => {
  const file = await exported(await openStorePage(context, origin));
  const page = await context.newPage();
  await open(page, origin, "policy=leveled");
  await openFile(page, "mine.terrane", file);
  await expect(page.locator(".transport")).toContainText("live");
  const other = await context.newPage();
  await open(other, origin, "policy=leveled");
  await openFile(other, "other.terrane", file);
  await expect(other.getByRole("alert")).toContainText("another tab shows an imported store");
  await page.bringToFront();
  await page.keyboard.press("r");
  expect(await read(page, "key7")).toContain("The key was found");
  await page.close();
  // What a tab that was closed has left is removed by the next that opens one.
  await openFile(other, "other.terrane", file);
  await expect(other.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
  await expect(other.locator("[role=alert]")).toHaveCount(0);
});
