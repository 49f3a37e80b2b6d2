/** The doctor: work by level, the cause of a wait, what would help; and bounds that are reported, not met. */

import { expect, type Page, test } from "./fixtures.ts";
import { clock, open, openSimulated, simulated, slider } from "./visualizer.ts";

/** A small recording whose writes wait. */
const BUSY = "policy=leveled&workload=uniform";

/** Clicks the longest wait of a recording that has stopped: while it plays, what it shows above the waits grows. */
async function clickLongestWait(page: Page): Promise<void> {
  await slider(page).press("End");
  await page.locator(".waits button").first().click();
}

test("a wait leads to its cause, and to what would help", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, BUSY);
  await clickLongestWait(page);
  const stall = page.getByRole("region", { name: "Why writes waited" });
  await expect(stall).toContainText(/Writes waited \d+\.\d\d s, from \d+\.\d\d s on: \w/);
  await expect(stall.getByRole("listitem")).not.toHaveCount(0);
  await expect(page.locator(".waited")).toBeVisible();
  const from = (await stall.innerText()).match(/from (\d+\.\d\d) s on/)?.[1];
  await expect(clock(page)).toHaveText(`${from} s`);
  await stall.getByRole("button", { name: "simulate it" }).click();
  const rows = stall.locator("tbody tr");
  await expect(rows).toHaveCount(5);
  await expect(stall.locator("tbody")).not.toContainText("…", { timeout: 120_000 });
  for (const cells of await rows.allInnerTexts())
    expect(cells).toMatch(/\d+\.\d\d s\s+\d+\.\d\d s$/);
  await page.keyboard.press("Escape");
  await expect(stall).toHaveCount(0);
});

test("a click on a red block shows its cause", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, BUSY);
  await clickLongestWait(page);
  const block = await page.locator(".waited").boundingBox();
  if (block === null) throw new Error("no wait is marked");
  await page.keyboard.press("Escape");
  await page.mouse.click(block.x + block.width / 2, block.y + block.height / 2);
  await expect(page.getByRole("region", { name: "Why writes waited" })).toBeVisible();
});

test("each level has its work in figures", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, BUSY);
  await slider(page).press("End");
  const levels = page.getByRole("region", { name: "By level" });
  const rows = levels.locator("tbody tr");
  await expect(rows).not.toHaveCount(0);
  const [first = ""] = await rows.allInnerTexts();
  const [level, read, written] = first.split(/\s+/);
  expect([level, read, written].map(Number).every(Number.isFinite)).toBe(true);
  expect(Number(written?.replace(",", ""))).toBeGreaterThan(0);
  await expect(page.locator(".limit")).toContainText(/limits?: /);
});

test("latencies, filters, hot keys and debt are those of the moment", async ({
  context,
  origin,
}) => {
  const page = await openSimulated(context, origin, "policy=leveled&workload=mixed");
  await slider(page).press("End");
  const latencies = page.getByRole("region", { name: "Latencies" });
  for (const kind of ["gets", "writes"]) {
    await expect(latencies.getByRole("img", { name: `Latencies of ${kind}` })).toBeVisible();
    await expect(latencies).toContainText(new RegExp(`Half of the ${kind} .+ \\w+ to\\s+\\w`));
  }
  await expect(page.locator(".heat .gets")).not.toHaveCount(0);
  await expect(page.locator(".heat .writes")).not.toHaveCount(0);
  const reads = page.getByRole("table", { name: "Filters and blocks of gets, by level" });
  const cells = (await reads.locator("tbody tr").last().innerText()).split(/\s+/);
  expect(Number(cells[1]?.replaceAll(",", ""))).toBeGreaterThan(0);
  await expect(page.locator(".debt")).toContainText(/[Cc]ompaction debt/);
  // At the start nothing was measured.
  await slider(page).press("Home");
  await expect(latencies).toHaveCount(0);
  await expect(page.locator(".heat")).toHaveCount(0);
});

test("a run that is too large is refused before it starts", async ({ page, origin }) => {
  await page.goto(`${origin}/demo/#v1&policy=leveled&load=5000000&p.targetFileBytes=1024`);
  const alert = page.locator(".sentence [role=alert]");
  await expect(alert).toContainText("This would be 5 million tables; a page draws at most 20,000");
  await expect(page.locator("h1")).toHaveText("Nothing is run.");
});

test("an unknown link is named where it leads", async ({ page, origin }) => {
  const says = async (fragment: string, text: string) => {
    await page.goto("about:blank");
    await page.goto(`${origin}/demo/${fragment}`);
    await expect(page.getByRole("alert")).toContainText(text);
  };
  await says("#v9&policy=leveled", "this one has v9");
  await says("#hello", "No link of this page ends in #hello");
  await says("#v1&policy=nonsense", "policy=nonsense. It shows spooky instead");
  await says("?embed#v9", "this one has v9");
  await says("#ch=nonsense", "There is no chapter “nonsense”");
});

test("levels and sizes that no tree has end a trace", async ({ context, origin }) => {
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  const status = '{"type":"policy-status","micros":10,"keyspace":0,"capacities":[],"facts":[]}';
  const change = { type: "level-changed", micros: 20, keyspace: 0, reason: "", terms: [] };
  const observed = { updates: 0, "point-reads": 0, "range-reads": 0, "table-reads": {} };
  const deep = JSON.stringify({ ...change, change: { add: 200_000 }, observed });
  const large = '{"type":"memtable-sealed","micros":30,"keyspace":0,"bytes":1e308,"through":1}';
  for (const [name, line] of [
    ["deep.ndjson", deep],
    ["large.ndjson", large],
  ] as const) {
    const file = { name, mimeType: "text/plain", buffer: Buffer.from(`${status}\n${line}\n`) };
    await page.locator("#files input[type=file]").setInputFiles(file);
    await expect(page.locator(".opened")).toContainText(name);
    await expect(page.getByRole("alert")).toContainText("line 2 is no event");
  }
});

test("a page answers while it reads a large trace", async ({ context, origin }) => {
  const page = await openSimulated(context, origin, BUSY);
  const status = (micros: number) =>
    `{"type":"policy-status","micros":${micros},"keyspace":0,"capacities":[],"facts":[]}`;
  const lines = Array.from({ length: 200_000 }, (_, i) => status(i * 10));
  const buffer = Buffer.from(lines.join("\n"));
  await page
    .locator("#files input[type=file]")
    .setInputFiles({ name: "long.ndjson", mimeType: "text/plain", buffer });
  // Neither waits for the other.
  await expect(page.locator(".opened")).toContainText("long.ndjson");
  await page.keyboard.press("t");
  await expect(page.getByRole("button", { name: "As text" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await simulated(page);
  await slider(page).press("End");
  await expect(clock(page)).toHaveText("2.00 s");
});
