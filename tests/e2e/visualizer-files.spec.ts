/** Files of the visualizer: a trace saved and opened again, rows of one's own, pictures. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, type Page, test } from "./fixtures.ts";
import { clock, open, openSimulated, simulated, slider } from "./visualizer.ts";

/** Makes the page keep its saved files. */
async function keepSaved(page: Page): Promise<void> {
  await page.evaluate(() => {
    const make = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (blob: Blob) => {
      Object.assign(window, { saved: blob });
      return make(blob);
    };
  });
}

/** Returns the file saved last, as text, with its type. */
async function saved(
  page: Page,
  button: string,
  picture?: string,
): Promise<{ type: string; text: string }> {
  await page.getByRole("button", { name: "File", exact: false }).first().click();
  if (picture !== undefined) await page.locator("#files select").selectOption(picture);
  await page.getByRole("button", { name: button }).click();
  await page.waitForFunction(() => "saved" in window);
  const found = await page.evaluate(async () => {
    const { saved } = window as unknown as { saved: Blob };
    return { type: saved.type, text: await saved.text() };
  });
  await page.evaluate(() => Reflect.deleteProperty(window, "saved"));
  await page.keyboard.press("Escape");
  return found;
}

/** Returns the texts of an SVG that reach out of it. */
function outside(page: Page, svg: string): Promise<string[]> {
  return page.evaluate((svg) => {
    const place = document.createElement("div");
    place.innerHTML = svg;
    document.body.append(place);
    const edge = place.getElementsByTagName("svg")[0]?.getBoundingClientRect();
    const texts = [...place.getElementsByTagName("text")].filter((text) => {
      const { left, right } = text.getBoundingClientRect();
      return left < (edge?.left ?? 0) || right > (edge?.right ?? 0);
    });
    place.remove();
    return texts.map(({ textContent }) => textContent);
  }, svg);
}

async function openText(page: Page, name: string, text: string): Promise<void> {
  const file = { name, mimeType: "text/plain", buffer: Buffer.from(text) };
  await page.locator("#files input[type=file]").setInputFiles(file);
}

test("a trace that is saved shows the same when it is opened", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=500000");
  await keepSaved(page);
  const { text, type } = await saved(page, "the events, as a trace");
  expect(type).toBe("application/x-ndjson");
  await slider(page).press("End");
  await page.keyboard.press("t");
  const there = await page.locator(".tables").innerText();
  const other = await context.newPage();
  await open(other, origin, "policy=tiered");
  await openText(other, "saved.ndjson", text);
  await expect(other.locator(".opened")).toContainText("saved.ndjson");
  await simulated(other);
  await slider(other).press("End");
  await other.keyboard.press("t");
  await expect.poll(() => other.locator(".tables").innerText()).toBe(there);
  // Cut amid a line: at the end of one the trace would be whole.
  const cut = text.indexOf("\n", text.length >> 1) - 1;
  await openText(other, "cut.ndjson", text.slice(0, cut));
  await expect(other.getByRole("alert")).toContainText("This trace ends at");
  await other.getByRole("button", { name: "close" }).click();
  await expect(other.locator(".opened")).toHaveCount(0);
});

/** Drops a file on the page, as a hand does. */
async function drop(page: Page, name: string, content: Buffer): Promise<void> {
  const files = await page.evaluateHandle(
    ([name, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const files = new DataTransfer();
      files.items.add(new File([bytes], name));
      return files;
    },
    [name, content.toString("base64")] as const,
  );
  await page.locator("main").dispatchEvent("dragover", { dataTransfer: files });
  await expect(page.locator(".held")).toBeVisible();
  await page.locator("main").dispatchEvent("drop", { dataTransfer: files });
  await expect(page.locator(".held")).toHaveCount(0);
}

test("a MANIFEST of RocksDB is dropped on the page, and shown as its history", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  const data = new URL("../../crates/foreign/data/rocksdb-leveled", import.meta.url);
  await drop(page, "MANIFEST-000005", readFileSync(data));
  const sentence = page.locator(".sentence");
  await expect(sentence).toContainText("MANIFEST-000005");
  await expect(sentence).toContainText("column family default of a RocksDB store");
  await simulated(page);
  await page.keyboard.press("t");
  await slider(page).press("End");
  const rows = page.locator(".tables tbody tr");
  await expect(rows).toHaveCount(8);
  await page.getByRole("combobox", { name: "Column family" }).selectOption("users");
  await expect(sentence).toContainText("column family users of a RocksDB store");
  await simulated(page);
  await slider(page).press("End");
  await expect(rows).toHaveCount(4);
  await expect(rows.first()).toContainText("k000017");
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  // Other bytes that start alike are refused, and what is shown stays.
  await drop(page, "noise.bin", Buffer.from([0, 0, 0, 0, 9, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]));
  await expect(page.locator("#files [role=alert]")).toContainText(
    "noise.bin cannot be shown: expected a MANIFEST of RocksDB, Pebble or LevelDB",
  );
  await expect(sentence).toContainText("column family users of a RocksDB store");
});

/** Holds back the reading of files called `slow`; the returned function lets it finish, with all that follows. */
async function holdReading(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => {
    const text = Blob.prototype.text;
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(window, { finish: resolve, given: 0 });
    Blob.prototype.text = async function (this: Blob) {
      const isSlow = this instanceof File && this.name.startsWith("slow");
      if (isSlow) await promise;
      const said = await text.call(this);
      if (isSlow) (window as unknown as { given: number }).given += 1;
      return said;
    };
  });
  return () =>
    page.evaluate(async () => {
      const held = window as unknown as { finish: () => void; given: number };
      held.finish();
      const turn = () => new Promise((resolve) => setTimeout(resolve));
      while (held.given === 0) await turn();
      for (let turns = 0; turns < 20; turns++) await turn();
    });
}

const ROWS = Buffer.from("key,value\na,1\n");

test("of files dropped one soon after the other, the later one is shown", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  const finish = await holdReading(page);
  await drop(page, "slow.csv", ROWS);
  await drop(page, "quick.csv", ROWS);
  await expect(page.locator(".opened")).toContainText("quick.csv");
  await finish();
  await expect(page.locator(".opened")).toContainText("quick.csv");
});

test("the message of a file stays when an earlier one is read", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  const finish = await holdReading(page);
  await drop(page, "slow.csv", ROWS);
  await drop(page, "empty.csv", Buffer.from("key,value\n"));
  const message = page.locator("#files [role=alert]");
  await expect(message).toContainText("empty.csv");
  await finish();
  await expect(message).toContainText("empty.csv");
  await expect(page.locator(".opened")).toHaveCount(0);
});

test("an event of the wrong shape ends a trace with a message", async ({ context, origin }) => {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await open(page, origin, "policy=tiered");
  const status = '{"type":"policy-status","micros":10,"keyspace":0,"capacities":[],"facts":[]}';
  const wrong = status.replace('"capacities":[]', '"capacities":5').replace("10", "2500000");
  await openText(page, "wrong.ndjson", `${status}\n${wrong}\n${status}\n`);
  await expect(page.locator(".opened")).toContainText("wrong.ndjson");
  const message = "line 2 is no event: policy-status has no valid `capacities`";
  await expect(page.getByRole("alert")).toContainText(message);
  await openText(page, "none.ndjson", `${wrong}\n${status}\n`);
  await expect(page.locator("#files")).toContainText("none.ndjson cannot be shown");
  expect(errors).toEqual([]);
});

test("rows of one's own are written to the engine", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "policy=leveled");
  const rows = Array.from(
    { length: 20_000 },
    (_, i) => `key${(i * 7919) % 20_000},${"x".repeat(200)}`,
  );
  await openText(page, "mine.csv", `key,value\n${rows.join("\n")}\n`);
  await expect(page.locator(".opened")).toContainText("mine.csv");
  await simulated(page);
  await expect(page.getByRole("combobox", { name: "Device" })).toHaveValue("memory");
  await slider(page).press("End");
  await page.keyboard.press("t");
  await expect(page.locator(".tables tbody tr").first()).toContainText("key");
  await openText(page, "empty.csv", "key,value\n");
  await expect(page.locator("#files")).toContainText("neither events nor rows");
});

test("keys that are text are read on the axis, which can be of plain keys", async ({
  context,
  origin,
}) => {
  const page = await context.newPage();
  await open(page, origin, "policy=leveled");
  // Half of all bytes are in the first tenth of the keys; they do not compress.
  const noise = (bytes: number) => randomBytes(bytes).toString("hex");
  const row = (_: unknown, i: number) => {
    const key = (i * 7919) % 10_000;
    return `tenant-7/${String(key).padStart(4, "0")},${noise(key < 1000 ? 900 : 100)}`;
  };
  const rows = Array.from({ length: 20_000 }, row);
  await openText(page, "mine.csv", `key,value\n${rows.join("\n")}\n`);
  await expect(page.locator(".opened")).toContainText("mine.csv");
  await simulated(page);
  await slider(page).press("End");
  const labels = () => page.locator(".axis span").allInnerTexts();
  const text = /^tenant-7\/\d+( …\d+){8}$/;
  await expect.poll(async () => (await labels()).join(" ")).toMatch(text);
  const middle = async () => Number((await labels())[4]?.replace("…", "0."));
  const byBytes = await middle();
  expect(byBytes).toBeLessThan(0.3);
  await page.getByRole("combobox", { name: "Key axis" }).selectOption("Plain keys");
  await expect.poll(middle).toBeGreaterThan(0.4);
  expect(await middle()).toBeLessThan(0.6);
  expect((await labels()).join(" ")).toMatch(text);
  await page.keyboard.press("Escape");
  await page.locator("h1").click();
  await page.keyboard.press("x");
  await expect.poll(middle).toBe(byBytes);
});

test("a saved picture has the arrow to what is watched", async ({ context, origin }) => {
  const page = await context.newPage();
  const fragment = "v1&policy=leveled&workload=uniform&load=100000&operations=0&rate=20000";
  await page.goto(`${origin}/demo/#${fragment}&watch=newest`);
  await expect(page.locator(".watched")).toContainText("Watch this.");
  await keepSaved(page);
  const { text } = await saved(page, "as SVG", "the tree");
  expect(text).toContain(">watch this</text>");
  expect(text).toContain("was flushed just now");
});

test("the tree, the ribbon and the charts are saved as PNG and as SVG", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=500000");
  await keepSaved(page);
  const found: Record<string, string> = {};
  for (const picture of ["the tree", "the ribbon", "the charts"]) {
    const svg = await saved(page, "as SVG", picture);
    expect(svg.type).toBe("image/svg+xml");
    found[picture] = svg.text;
    expect((await saved(page, "as PNG", picture)).type).toBe("image/png");
  }
  const tree = found["the tree"] ?? "";
  expect(tree).toMatch(/^<svg .*<rect /);
  // It says by itself what it shows: the sentence, the levels, the keys, the moment and the link.
  const said = tree.replaceAll(/<[^>]*>/g, "|");
  for (const text of [
    await page.locator("h1").innerText(),
    "Level 1: ",
    "at 0.50 s, under leveled",
  ])
    expect(said).toContain(text);
  const keys = await page.locator(".axis span").allInnerTexts();
  for (const key of keys) expect(said).toContain(`|${key}|`);
  // The last one ends within the picture, as all do.
  expect(await outside(page, tree)).toEqual([]);
  expect(said).toContain("read by a merge, still on disk");
  expect(said.replaceAll("|", "")).toContain("#v1&#38;policy=leveled");
  expect(found["the ribbon"]).toMatch(/<text [^>]*>0 s<\/text>/);
  // The lines of this recording and of its rivals, and what stands beside them on the page.
  const charts = page.getByRole("region", { name: "What it costs over time" });
  for (const text of await charts.locator("li :is(span, b)").allInnerTexts())
    expect(found["the charts"]).toContain(`>${text}</text>`);
  expect(found["the charts"]?.match(/stroke-dasharray/g)).toHaveLength(6);
  // Of trees that are compared, all are in one picture.
  await page.keyboard.press("c");
  const names = await page.locator(".compare figure strong").allInnerTexts();
  expect(names).toHaveLength(3);
  const trees = await saved(page, "as SVG", "the tree");
  for (const name of names) expect(trees.text).toContain(`>${name}</text>`);
  expect(trees.text.match(/<clipPath /g)).toHaveLength(3);
  expect(trees.text.match(/<g /g)).toHaveLength(trees.text.match(/<\/g>/g)?.length ?? 0);
});

test("a chart leads to the moment at which it is pressed", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, "policy=leveled&at=500000");
  const charts = page.getByRole("region", { name: "What it costs over time" });
  const chart = charts.getByRole("img").first();
  const label = await chart.getAttribute("aria-label");
  const box = await chart.boundingBox();
  await chart.click({ position: { x: 1, y: 10 } });
  await expect(clock(page)).not.toHaveText("0.50 s");
  await expect(chart).not.toHaveAttribute("aria-label", label ?? "");
  await chart.click({ position: { x: (box?.width ?? 0) - 1, y: 10 } });
  const [at, all] = [await clock(page).innerText(), await page.locator(".transport").innerText()];
  expect(Number.parseFloat(at)).toBeGreaterThan(
    0.95 * Number(/of ([\d.]+)/.exec(all)?.[1] ?? Infinity),
  );
});
