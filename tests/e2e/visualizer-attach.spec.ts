/** The visualizer attached to a process that runs: what `terrane shell --events` reports is seen. */

import { type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, type Page, test as base } from "./fixtures.ts";
import { buildNative, terraneRunning } from "./native.ts";
import { open } from "./visualizer.ts";

interface Serving {
  folder: string;
  /** Starts to serve a store, with commands on its standard input; returns the address of its events. */
  serve: (...args: string[]) => Promise<{ address: string; command: (line: string) => void }>;
}

const test = base.extend<Serving>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "terrane-serve-"));
    await use(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  },
  serve: async ({ folder }, use) => {
    const running: ChildProcessWithoutNullStreams[] = [];
    await use(async (...args) => {
      const listen = ["--events", "127.0.0.1:0", "--create"];
      const child = terraneRunning("shell", join(folder, "db"), ...listen, ...args);
      running.push(child);
      // It is read to its end, or a later message would have nowhere to go.
      const [said] = (await once(createInterface(child.stderr), "line")) as [string];
      const address = /(http:\S+)/.exec(said)?.[1];
      if (address === undefined) throw new Error(said);
      return { address, command: (line) => child.stdin.write(`${line}\n`) };
    });
    for (const child of running) child.kill("SIGKILL");
  },
});

test.beforeAll(buildNative);

async function attach(page: Page, address: string): Promise<void> {
  await page.getByRole("button", { name: "File" }).first().click();
  await page.getByRole("textbox", { name: "Address" }).fill(address);
  await page.getByRole("button", { name: "attach" }).click();
}

test("a process is seen as it works, from the tree that it has", async ({
  context,
  origin,
  folder,
  serve,
}) => {
  const { address, command } = await serve("--allow-origin", "localhost");
  const rows = Array.from({ length: 2000 }, (_, i) => `key${i}\t${"x".repeat(100)}\n`);
  writeFileSync(join(folder, "rows.tsv"), rows.join(""));
  const load = `load ${join(folder, "rows.tsv")}`;
  command(load);
  command("compact");
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, address);
  await expect(page.locator(".opened")).toContainText(new URL(address).host);
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("leveled");
  await expect(page.locator(".transport")).toContainText("live");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  const tables = page.locator(".tables tbody tr");
  await expect(tables).toHaveCount(1);
  await expect(tables.first()).toContainText("key0");
  const before = await tables.first().innerText();
  command(load);
  command("compact");
  await expect.poll(() => tables.first().innerText()).not.toBe(before);
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  await page.getByRole("button", { name: "close" }).click();
  await expect(page.locator(".opened")).toHaveCount(0);
});

test("a page whose origin is not allowed is told what is missing", async ({
  context,
  origin,
  serve,
}) => {
  const { address } = await serve();
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, address);
  await expect(page.getByRole("alert")).toContainText(`--allow-origin ${origin}`);
  await expect(page.locator(".opened")).toHaveCount(0);
});
