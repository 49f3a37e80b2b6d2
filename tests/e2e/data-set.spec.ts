/**
 * A data set goes in from a page that has the packed package, and comes out equal: in order, both
 * ways, and after a reload. Tabs that are killed while it goes in leave whole batches, the first
 * ones. Native programs read what the page exports, and the page what they do.
 *
 * `TERRANE_DATA=FILE` takes the lines of a file as keys; without it the data set is small.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext } from "@playwright/test";
import { expect, type Page, test } from "./fixtures.ts";
import { buildNative, terrane, terraneTo } from "./native.ts";
import { install, npm } from "./packed.ts";
import { patient } from "./patience.ts";

const given = process.env["TERRANE_DATA"];
const names = given === undefined ? drawn(80_500) : readFileSync(given, "utf8").split("\n");
if (names.at(-1) === "") names.pop();

/** Keys in no order, no two the same. */
function drawn(count: number): string[] {
  const key = (_: unknown, i: number) => `@${((i * 0x9e37_79b1) >>> 0).toString(36)}/${i}`;
  return Array.from({ length: count }, key);
}

let folder: string;
test.beforeAll(() => {
  test.setTimeout(patient(600_000));
  folder = mkdtempSync(join(tmpdir(), "terrane-data-"));
  writeFileSync(join(folder, "names.txt"), names.join("\n"));
  npm(install("esbuild"), "run", "build");
  buildNative();
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));
test.setTimeout(patient(given === undefined ? 360_000 : 20 * 60_000));

/** Functions of the tests on the page. */
interface Tools {
  /** Batches that went in. */
  batches: number;
  names: string[];
  /** Writes each key from `first` on with its position, in batches of 1000. */
  load(first: number): Promise<void>;
  /** Reads everything forward and backward; counts what is not as it should be. */
  compare(): Promise<{ forward: number; backward: number; wrong: number }>;
  /**
   * Returns the number of keys with a prefix, and of those that are not among as many first ones.
   */
  prefix(): Promise<{ count: number; wrong: number }>;
}

declare const tools: Tools;

/** Puts the tools on the page. */
function equip(): void {
  const isRight = (key: string, value: string) => {
    return tools.names[Number(value)] === key && String(Number(value)) === value;
  };
  Object.assign(window, {
    tools: {
      batches: 0,
      names: [],
      async load(first) {
        const { names } = tools;
        for (let at = first; at < names.length; at += 1000) {
          const put = (key: string, i: number) =>
            ({ type: "put", key, value: String(at + i) }) as const;
          await window.db.batch(names.slice(at, at + 1000).map(put));
          tools.batches += 1;
        }
        await window.db.sync();
      },
      async compare() {
        const sorted = [...tools.names].sort();
        let [forward, backward, wrong] = [0, sorted.length, 0];
        for await (const [key, value] of window.db.entries()) {
          if (key !== sorted[forward++] || !isRight(key, value)) wrong += 1;
        }
        for await (const [key, value] of window.db.entries({ reverse: true })) {
          if (key !== sorted[--backward] || !isRight(key, value)) wrong += 1;
        }
        return { forward, backward, wrong };
      },
      async prefix() {
        const count = await window.db.count();
        let wrong = 0;
        for await (const [key, value] of window.db.entries()) {
          if (!isRight(key, value) || Number(value) >= count) wrong += 1;
        }
        return { count, wrong };
      },
    } satisfies Tools,
  });
}

/** A file of this machine, on the page. */
async function hand(page: Page, path: string): Promise<void> {
  await page.evaluate(() => {
    document.body.innerHTML = `<input type="file">`;
  });
  await page.setInputFiles("input", path);
}

/** A page with the store open, and with the names. */
async function openPage(page: Page, origin: string, store: string): Promise<void> {
  await page.goto(`${origin}/some/sub/path/esbuild/`);
  await page.waitForFunction(() => "terrane" in window);
  await page.evaluate(equip);
  await hand(page, join(folder, "names.txt"));
  await page.evaluate(async (store) => {
    const [file] = document.querySelector("input")?.files ?? [];
    tools.names = ((await file?.text()) ?? "").split("\n");
    window.db = await window.terrane.open(store);
  }, store);
}

const equal = { forward: names.length, backward: 0, wrong: 0 };

test("data survives a round trip through native programs", async ({ context, origin }) => {
  const page = await context.newPage();
  await openPage(page, origin, "names");
  await test.step("load", () => page.evaluate(() => tools.load(0)));
  const compare = () => page.evaluate(() => tools.compare());
  await test.step("compare", async () => expect(await compare()).toEqual(equal));
  await page.evaluate(() => window.db.close());
  await openPage(page, origin, "names");
  await test.step("compare after a reload", async () => expect(await compare()).toEqual(equal));

  const [exported, scanned] = [join(folder, "page.terrane"), join(folder, "scanned.tsv")];
  await test.step("export", async () => {
    const download = page.waitForEvent("download");
    await page.evaluate(async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await new Response(await window.db.export()).blob());
      link.download = "page.terrane";
      link.click();
    });
    await (await download).saveAs(exported);
  });
  const rows = names.map((name, i) => `${name}\t${i}\n`);
  await test.step("open natively", () => {
    terrane("check", exported);
    terraneTo(scanned, "scan", exported);
    const expected = Buffer.from([...rows].sort().join(""));
    expect(readFileSync(scanned).equals(expected)).toBe(true);
  });

  const [text, volume] = [join(folder, "rows.tsv"), join(folder, "native.terrane")];
  await test.step("load natively", () => {
    writeFileSync(text, rows.join(""));
    terrane("load", join(folder, "native"), text, "--format", "tsv");
    terrane("export", join(folder, "native"), volume);
  });
  await hand(page, volume);
  await test.step("import", () =>
    page.evaluate(async () => {
      const [file] = document.querySelector("input")?.files ?? [];
      if (file !== undefined) await window.terrane.importStore("native", file);
      await window.db.close();
      window.db = await window.terrane.open("native", { create: false });
    }));
  await test.step("compare", async () => expect(await compare()).toEqual(equal));
});

/** Kills the process of a tab. */
async function kill(context: BrowserContext, page: Page): Promise<void> {
  const crash = page.waitForEvent("crash");
  const session = await context.newCDPSession(page);
  session.send("Page.crash").catch(() => undefined);
  await crash;
  await page.close();
}

test("killed tabs leave a prefix of whole batches", async ({ context, origin }) => {
  let loaded = 0;
  for (const part of [0.02, 0.25, 0.45, 0.7, 0.95]) {
    await test.step(`kill at ${100 * part} %`, async () => {
      const page = await context.newPage();
      await openPage(page, origin, "killed");
      await page.evaluate((first) => void tools.load(first), loaded);
      const target = (part * names.length - loaded) / 1000;
      await page.waitForFunction((target) => tools.batches >= target, target);
      await kill(context, page);

      const next = await context.newPage();
      await openPage(next, origin, "killed");
      const { count, wrong } = await next.evaluate(() => tools.prefix());
      const { damage } = await next.evaluate(() => window.db.check());
      expect([wrong, damage]).toEqual([0, []]);
      // The last batch has what is left.
      if (count < names.length) expect(count % 1000).toBe(0);
      expect(count).toBeGreaterThanOrEqual(loaded);
      loaded = count;
      await next.close();
    });
  }
  expect(loaded).toBeGreaterThan(0);
});
