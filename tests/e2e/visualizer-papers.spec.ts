/** Chapters show what their papers measured, and our simulations, with the numbers of docs/papers. */

import { readFileSync } from "node:fs";
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page, test } from "./fixtures.ts";
import { simulated } from "./visualizer.ts";

const DOCS = new URL("../../docs/papers/", import.meta.url);
const text = (path: string) => readFileSync(new URL(path, DOCS), "utf8");

/** A line of a chapter, and the places of its numbers: a figure, a case and a measure. */
interface Line {
  name: string;
  at: readonly [figure: string, name: string, measure: string];
  changed?: readonly [figure: string, name: string, measure: string];
}

const WRITES = "write amplification";
const RANKS = "mean rank";
const DEVIATION = "deviation of a level-0 merge, s";

/** Chapters, with the folder of their papers, their headlines, and lines of their other tables. */
const CHAPTERS: readonly { id: string; folder: string; headlines: RegExp; lines: Line[] }[] = [
  {
    id: "levels",
    folder: "fluid",
    headlines: /^$/,
    lines: [
      { name: "leveling, T = 4", at: ["closed-forms", "leveling, T = 4", "writes of merges"] },
      { name: "tiering, T = 4", at: ["closed-forms", "tiering, T = 4", "writes of merges"] },
    ],
  },
  {
    id: "partitions",
    folder: "partitioning",
    headlines: /^global-range over/,
    lines: [
      {
        name: "tables, local-range over size",
        at: ["figures-5-8", "local-range over size", "tables"],
      },
      {
        name: "loaded a second, leveled over global-range",
        at: ["figures-5-8", "leveled over global-range", "MB loaded a second of compaction"],
      },
    ],
  },
  {
    id: "horizontal",
    folder: "vertiorizon",
    headlines: /Vertiorizon/,
    lines: ["Vertiorizon", "horizontal leveling", "vertical tiering, full"].map((name) => ({
      name,
      at: ["figure-7", `all, ${name}`, RANKS],
      changed: ["rocksdb", `tuned by costs, ${name}`, RANKS],
    })),
  },
  {
    id: "spooky",
    folder: "spooky",
    headlines: /Spooky/,
    lines: ["full", "partial", "spooky"].map((name) => ({
      name,
      at: ["figure-6a", `N/B = 5000, ${name}, updates`, "write amp"],
    })),
  },
  {
    id: "ptier",
    folder: "ptierdb",
    headlines: /ptier/,
    lines: [
      ...["tiered", "silk", "wisckey"].map((name): Line => ({
        name,
        at: ["table-1-figure-7", name, WRITES],
      })),
      ...["leveled", "ptier"].map((name): Line => ({
        name,
        at: ["table-1-figure-7", name, WRITES],
        changed: ["seeks", `page cache and seeks, ${name}`, WRITES],
      })),
    ],
  },
  {
    id: "bucket",
    folder: "bucketlsm",
    headlines: /bucket|level-0 merge/,
    lines: [2, 4, 8, 16].map((parts) => ({
      name: `${parts} parts`,
      at: ["figure-10", `subcompaction, ${parts}`, DEVIATION],
      changed: [
        "deviations",
        `and storage that writes 1.4 GB/s, subcompaction, ${parts}`,
        DEVIATION,
      ],
    })),
  },
];

/** The rows of the table of headlines: its name, three numbers as text, and whether the order holds. */
const HEADLINES = text("README.md")
  .split("| holds | by |\n")[1]
  ?.split("\n\n")[0]
  ?.split("\n")
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("*", "")))
  .map(([, name = "", paper, ours, changed, holds]) => ({
    name,
    cells: [paper, ours, changed],
    holds,
  }));

/** Our number and the paper's, as a line shows them. */
function measured(folder: string, [figure, name, measure]: Line["at"]): string[] {
  const start = `"${name}","${measure}",`;
  const line = text(`${folder}/${figure}.csv`)
    .split("\n")
    .find((line) => line.startsWith(start));
  const [ours = "", paper = ""] = line?.slice(start.length).split(",") ?? [];
  return [paper, ours].map((number) => Number(number).toFixed(2));
}

/** The first line with a name. */
const lineOf = (page: Page, name: string) =>
  page.locator(".paper tr", { has: page.getByRole("rowheader", { name, exact: true }) }).first();

/** The numbers of a line. */
const shown = (page: Page, name: string) => lineOf(page, name).locator("td").allInnerTexts();

for (const { id, folder, headlines, lines } of CHAPTERS) {
  test(`${id} has the numbers of its paper, and ours`, async ({ context, origin }) => {
    const page = await context.newPage();
    await page.goto(`${origin}/demo/#ch=${id}`);
    const heading = page.getByRole("heading", { name: "What the paper measured, and what we did" });
    await expect(heading).toBeVisible();
    for (const { name, cells, holds } of HEADLINES?.filter(({ name }) => headlines.test(name)) ??
      []) {
      const found = await shown(page, name);
      expect([...found, ""].slice(0, 3), name).toEqual(cells);
      const said = lineOf(page, name).locator("xpath=following-sibling::tr[1]");
      await expect(said).toContainText(
        holds === "yes" ? "The order holds" : "The order does not hold",
      );
    }
    for (const { name, at, changed } of lines) {
      const others = changed ? [measured(folder, changed)[1]] : [];
      const [paper, ours, ...more] = await shown(page, name);
      expect([paper, ours], name).toEqual(measured(folder, at));
      expect(more.filter(Boolean), name).toEqual(others);
    }
    const link = page.locator(".paper").getByRole("link", { name: "the report" });
    const report = await link.evaluate(async (link: HTMLAnchorElement) =>
      (await fetch(link.href)).text(),
    );
    expect(report).toBe(text(`${folder}/README.md`));
  });
}

test("a headline that contradicts says with what, and why", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=horizontal`);
  await expect(page.locator(".paper .against")).toHaveText([
    /^The order does not hold, even with costs, four threads that merge.*none can lead by much/,
  ]);
});

test("a design of a paper opens as a run that can be changed", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=partitions`);
  await page.locator(".paper").getByRole("link", { name: "global-range", exact: true }).click();
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("universal");
  await simulated(page);
  await expect(page.getByRole("button", { name: /parameters? changed/ })).toBeVisible();
  expect(page.url()).toContain("p.partitioner=global-range");
  // Tables are as large as memtables in the report, and so they are here.
  expect(page.url()).toContain(`p.targetFileBytes=${4 << 20}`);
});

test("papers are loaded with their chapter, and with nothing else", async ({ context, origin }) => {
  const page = await context.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const papers = () => asked.filter((url) => /\/(Paper|ptierdb)-[^/]*\.js$/.test(url)).length;
  await page.goto(`${origin}/demo/`);
  await simulated(page);
  await page.goto(`${origin}/demo/#ch=basics`);
  await expect(page.locator(".question")).toBeVisible();
  expect(papers()).toBe(0);
  await page.goto(`${origin}/demo/#ch=ptier`);
  await expect(page.locator(".paper")).toBeVisible();
  expect(papers()).toBe(2);
});

for (const colorScheme of ["light", "dark"] as const) {
  test(`a paper's numbers can be read by all, and on a phone, ${colorScheme}`, async ({
    context,
    origin,
  }) => {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    for (const { id } of CHAPTERS) {
      await page.goto(`${origin}/demo/#ch=${id}`);
      await expect(page.locator(".paper")).toBeVisible();
      const { violations } = await new AxeBuilder({ page }).include(".paper").analyze();
      expect(violations).toEqual([]);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide).toBeLessThanOrEqual(0);
    }
  });
}

test("a paper's numbers are printed, and are a slide", async ({ context, origin }) => {
  const page = await context.newPage();
  await page.goto(`${origin}/demo/#ch=bucket`);
  await expect(page.locator(".paper")).toBeVisible();
  await page.emulateMedia({ media: "print" });
  await expect(page.locator(".paper tbody tr").last()).toBeVisible();
  await page.emulateMedia({ media: "screen" });
  await page.keyboard.press("p");
  const top = () =>
    page.locator(".paper").evaluate((one) => Math.abs(one.getBoundingClientRect().top));
  for (let i = 0; i < 6 && (await top()) > 40; i++) await page.keyboard.press("PageDown");
  await expect.poll(top).toBeLessThan(40);
});
