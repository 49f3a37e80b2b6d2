/** The visualizer attached to a process that runs: what a shell or a server reports is seen. */

import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { buildNative } from "./native.ts";
import { expect, type Page, test } from "./serving.ts";
import { open, readToTheEnd } from "./visualizer.ts";

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

/** Writes operations to a server. */
async function write(address: string, operations: object[]): Promise<void> {
  const body = JSON.stringify({ do: operations });
  const reply = await fetch(`${address}/v1/batch`, { method: "POST", body });
  expect(reply.status).toBe(200);
}

test("latencies, hot keys, filters by level and debt of a server are shown", async ({
  context,
  origin,
  serve,
}) => {
  const address = await serve("--allow-origin", "localhost");
  const rows = (round: number) =>
    Array.from({ length: 20_000 }, (_, i) => ({
      op: "put",
      keyspace: "rows",
      key: `key${String(i).padStart(5, "0")}`,
      value: `${round} ${"x".repeat(1000)}`,
    }));
  for (const round of [1, 2, 3, 4, 5]) await write(address, rows(round));
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, `${address}/v1/rows/events`);
  await page.keyboard.press("Escape");
  await expect(page.locator(".transport")).toContainText("live");
  const latencies = page.getByRole("region", { name: "Latencies" });
  await expect(latencies).toHaveCount(0);
  const get = async (key: string) => {
    const reply = await fetch(`${address}/v1/rows/keys/${key}`);
    await reply.arrayBuffer();
  };
  /** Gets of a few keys, of some that are not there, and writes, for a report a second. */
  const use = async () => {
    for (let i = 0; i < 40; i++) {
      await get(`key1234${i % 10}`);
      await get(`key1234${i % 10}-missing`);
      await write(address, rows(6).slice(500, 502));
    }
  };
  await expect(async () => {
    await use();
    for (const kind of ["gets", "writes"]) {
      const chart = latencies.getByRole("img", { name: `Latencies of ${kind}` });
      await expect(chart).toBeVisible({ timeout: 1 });
    }
    const hot = /Half of the gets were on keys from key1234\S* to\s+key1234/;
    await expect(latencies).toContainText(hot, { timeout: 1 });
    await expect(page.locator(".heat .gets")).not.toHaveCount(0, { timeout: 1 });
    const reads = page.getByRole("table", { name: "Filters and blocks of gets, by level" });
    // Some level's filters ruled out the keys that are missing.
    const ruledOut = reads.locator("td:nth-of-type(2)").filter({ hasText: /[1-9]/ });
    await expect(ruledOut).not.toHaveCount(0, { timeout: 1 });
  }).toPass();
  await expect(page.locator(".debt")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("of a server, another keyspace is chosen and a key is read", async ({
  context,
  origin,
  serve,
}) => {
  const address = await serve("--allow-origin", "localhost");
  await write(address, [
    { op: "put", key: "fern", value: "of the default keyspace" },
    { op: "put", keyspace: "garden beds", key: "fern", value: "green" },
    { op: "put", keyspace: "garden beds", key_hex: "ff00", value_hex: "fe" },
  ]);
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, address);
  await page.keyboard.press("Escape");
  const keyspace = page.getByRole("combobox", { name: "Keyspace" });
  await expect(keyspace).toHaveValue("default");
  await expect(keyspace.locator("option")).toHaveText(["default", "garden beds"]);
  await keyspace.selectOption("garden beds");
  await expect(page.locator(".sentence")).toContainText("keyspace garden beds");
  await expect(keyspace).toHaveValue("garden beds");
  await page.getByRole("button", { name: "Read a key" }).click();
  const reading = page.locator(".reading");
  const key = reading.getByRole("textbox", { name: "key" });
  await key.fill("fern");
  await reading.getByRole("button", { name: /^Read/ }).click();
  expect(await readToTheEnd(reading)).toContain("The key was found");
  await expect(reading.locator("output")).toHaveText("green");
  await key.fill("g");
  await reading.getByRole("button", { name: "the next key on disk" }).click();
  await readToTheEnd(reading);
  await expect(reading.locator("output")).toHaveText("1 byte, not text.");
  await key.fill("nobody");
  await reading.getByRole("button", { name: /^Read/ }).click();
  await readToTheEnd(reading);
  await expect(reading.locator("output")).toContainText("No such key");
});

/** A way to a server that can be closed and opened again. */
async function gate(address: string): Promise<{ address: string; close(): void; open(): void }> {
  const { hostname, port } = new URL(address);
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((from) => {
    sockets.add(from);
    from.on("close", () => sockets.delete(from)).on("error", () => undefined);
    if (!isOpen) {
      // No event stream: a browser does not try again by itself.
      from.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    const to = connect(Number(port), hostname);
    to.on("error", () => from.destroy());
    from.pipe(to).pipe(from);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      isOpen = false;
      for (const socket of sockets) socket.destroy();
    },
    open: () => (isOpen = true),
  };
}

test("a stream that is dropped is connected to again", async ({ context, origin, serve }) => {
  const address = await serve("--allow-origin", "localhost");
  const way = await gate(address);
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, way.address);
  await page.keyboard.press("Escape");
  const transport = page.locator(".transport");
  await expect(transport).toContainText("live");
  const heading = page.getByRole("heading", { level: 1 });
  for (const how of ["by itself", "at once"]) {
    way.close();
    await expect(heading).toContainText("The connection is lost");
    await expect(transport).not.toContainText("live");
    way.open();
    if (how === "at once") await page.getByRole("button", { name: "reconnect" }).click();
    await expect(transport).toContainText("live");
    await expect(heading).not.toContainText("lost");
    await expect(page.getByRole("button", { name: "reconnect" })).toHaveCount(0);
  }
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("a shell's events have no keys, which a read says", async ({ context, origin, shell }) => {
  const { address } = await shell("--allow-origin", "localhost");
  const page = await context.newPage();
  await open(page, origin, "policy=tiered");
  await attach(page, address);
  await page.keyboard.press("Escape");
  await expect(page.locator(".sentence")).toContainText("keyspace default");
  await expect(page.getByRole("combobox", { name: "Keyspace" })).toHaveCount(0);
  await page.getByRole("button", { name: "Read a key" }).click();
  await page.locator(".reading").getByRole("textbox", { name: "key" }).fill("fern");
  await page.locator(".reading").getByRole("button", { name: /^Read/ }).click();
  await expect(page.locator(".reading [role=alert]")).toContainText("terrane serve");
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
