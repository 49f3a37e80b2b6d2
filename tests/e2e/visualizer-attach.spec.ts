/** The visualizer attached to a process that runs: what a shell or a server reports is seen. */

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
  /** Starts a shell on a store, with commands on its standard input; returns the address of its events. */
  shell: (...args: string[]) => Promise<{ address: string; command: (line: string) => void }>;
  /** Starts a server of a store; returns its address. */
  serve: (...args: string[]) => Promise<string>;
}

const test = base.extend<Serving>({
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "terrane-serve-"));
    await use(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  },
  shell: async ({ folder }, use) => {
    const running: ChildProcessWithoutNullStreams[] = [];
    await use(async (...args) => {
      const listen = ["--events", "127.0.0.1:0", "--create"];
      const child = terraneRunning("shell", join(folder, "db"), ...listen, ...args);
      running.push(child);
      return { address: await addressOf(child), command: (line) => child.stdin.write(`${line}\n`) };
    });
    for (const child of running) child.kill("SIGKILL");
  },
  serve: async ({ folder }, use) => {
    const running: ChildProcessWithoutNullStreams[] = [];
    await use(async (...args) => {
      const doors = ["--http", "127.0.0.1:0", "--resp", "off", "--connections", "100"];
      const child = terraneRunning("serve", join(folder, "db"), ...doors, ...args);
      running.push(child);
      return await addressOf(child);
    });
    for (const child of running) child.kill("SIGKILL");
  },
});

/** The address that a process prints first. */
async function addressOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  // It is read to its end, or a later message would have nowhere to go.
  const [said] = (await once(createInterface(child.stderr), "line")) as [string];
  const address = /(http:\S+)/.exec(said)?.[1];
  if (address === undefined) throw new Error(said);
  return address;
}

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
  shell,
}) => {
  const { address, command } = await shell("--allow-origin", "localhost");
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

test("a server is seen while it is written to", async ({ context, origin, serve }) => {
  const address = await serve("--allow-origin", "localhost");
  const put = async (round: number): Promise<void> => {
    const operations = Array.from({ length: 20_000 }, (_, i) => ({
      op: "put",
      keyspace: "rows",
      key: `key${i}`,
      value: `${round} ${"x".repeat(1000)}`,
    }));
    const body = JSON.stringify({ do: operations });
    const reply = await fetch(`${address}/v1/batch`, { method: "POST", body });
    expect(reply.status).toBe(200);
  };
  await put(0);
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, `${address}/v1/rows/events`);
  await expect(page.locator(".opened")).toContainText(new URL(address).host);
  await expect(page.locator(".transport")).toContainText("live");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  const tables = page.locator(".tables tbody tr");
  const before = await tables.count();
  for (let round = 1; round <= 4; round += 1) await put(round);
  await expect.poll(() => tables.count()).toBeGreaterThan(before);
  await expect(page.locator("[role=alert]")).toHaveCount(0);
  if (process.env["TERRANE_PICTURE"] !== undefined) {
    await page.keyboard.press("t");
    await page.screenshot({ path: process.env["TERRANE_PICTURE"] });
  }
});

test("a page of an allowed origin reads and writes values and versions", async ({
  context,
  origin,
  serve,
}) => {
  const address = await serve("--allow-origin", origin);
  const page = await context.newPage();
  await page.goto(`${origin}/pages/store.html`);
  const seen = await page.evaluate(async (address) => {
    const key = `${address}/v1/default/keys/${encodeURIComponent("a/b")}`;
    const put = await fetch(key, { method: "PUT", body: "1", headers: { "If-None-Match": "*" } });
    const got = await fetch(key);
    const again = await fetch(key, { method: "PUT", body: "2", headers: { "If-None-Match": "*" } });
    const rows = await fetch(`${address}/v1/default/range?prefix=a`);
    const tags = [put, got, again].map((reply) => reply.headers.get("etag"));
    const statuses = [put.status, got.status, again.status];
    return { tags, statuses, value: await got.text(), rows: await rows.text() };
  }, address);
  expect(seen.statuses).toEqual([204, 200, 412]);
  expect(new Set(seen.tags).size).toBe(1);
  expect(seen.tags[0]).toMatch(/^"\d+"$/);
  expect(seen.value).toBe("1");
  expect(seen.rows).toBe('{"key":"a/b","value":"1"}\n{"end":true}\n');
});

test("a page whose origin is not allowed is told what is missing", async ({
  context,
  origin,
  shell,
}) => {
  const { address } = await shell();
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, address);
  await expect(page.getByRole("alert")).toContainText(`--allow-origin ${origin}`);
  await expect(page.locator(".opened")).toHaveCount(0);
});
