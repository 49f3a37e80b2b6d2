/** The visualizer attached to a process that runs: what a shell or a server reports is seen. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildNative } from "./native.ts";
import { expect, type Page, test } from "./serving.ts";
import { open } from "./visualizer.ts";

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
  // The sentence is the process's own, and not that of the simulation that was shown before.
  const sentence = page.locator(".sentence");
  await expect(sentence).toContainText("under leveled with");
  await expect(sentence).toContainText("keyspace default, release");
  await expect(sentence).not.toContainText("tiered");
  await expect(sentence.getByRole("combobox")).toHaveCount(0);
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
  await expect(page.getByRole("combobox", { name: "Policy" })).toHaveValue("tiered");
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
