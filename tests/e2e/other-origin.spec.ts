/** Pages of other origins as clients of a server: what they may do, and what they may not. */

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildNative } from "./native.ts";
import { expect, type Page, test } from "./serving.ts";

test.beforeAll(buildNative);

/** Requests of a page, with what it may see of their replies. */
interface Seen {
  status: number;
  headers: Record<string, string>;
  body: string;
}

type Ask = [path: string, method?: string, headers?: Record<string, string>, body?: string];

/** Sends requests from a page, one after another; returns what it sees of the replies, or how they failed. */
async function ask(page: Page, address: string, asks: readonly Ask[]): Promise<(Seen | string)[]> {
  return await page.evaluate(
    async ([address, asks]) => {
      const seen = [];
      for (const [path, method = "GET", headers = {}, body] of asks) {
        const init = { method, headers, ...(body !== undefined && { body }) };
        const reply = await fetch(address + path, init).catch(String);
        if (typeof reply === "string") seen.push(reply.replace(/:.*/, ""));
        else {
          const { status } = reply;
          seen.push({
            status,
            headers: Object.fromEntries(reply.headers),
            body: await reply.text(),
          });
        }
      }
      return seen;
    },
    [address, asks] as const,
  );
}

async function blank(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/pages/blank.html`);
}

test("a page of an allowed origin reads and writes values and versions", async ({
  context,
  origin,
  serve,
}) => {
  const address = await serve("--allow-origin", origin);
  const page = await context.newPage();
  await blank(page, origin);
  const key = `/v1/default/keys/${encodeURIComponent("a/b")}`;
  const creates = { "If-None-Match": "*" };
  const [put, got, again, head, rows] = (await ask(page, address, [
    [`${key}?ttl=3600000`, "PUT", creates, "1"],
    [key],
    [key, "PUT", creates, "2"],
    [key, "HEAD"],
    ["/v1/default/range?prefix=a"],
  ])) as Seen[];
  expect([put, got, again, head].map((reply) => reply?.status)).toEqual([204, 200, 412, 200]);
  const tags = [put, got, again, head].map((reply) => reply?.headers["etag"]);
  expect(new Set(tags).size).toBe(1);
  expect(tags[0]).toMatch(/^"\d+"$/);
  expect(got?.body).toBe("1");
  expect(Number(got?.headers["terrane-expires"])).toBeGreaterThan(Date.now());
  expect(rows?.body).toBe('{"key":"a/b","value":"1"}\n{"end":true}\n');

  const tag = tags[0]!;
  const batch = JSON.stringify({ do: [{ op: "put", key: "c", value: "3" }] });
  const replies = (await ask(page, address, [
    [key, "GET", { "If-None-Match": tag }],
    [key, "PUT", { "If-Match": tag }, "4"],
    [key, "DELETE", { "If-Match": tag }],
    [key, "DELETE"],
    ["/v1/batch", "POST", { "Content-Type": "application/json" }, batch],
    ["/v1/default/get", "POST", {}, '{"keys":["c"]}'],
    ["/v1/default/range?gte=a", "DELETE"],
    ["/v1/none/keys/a"],
    ["/no/route"],
    ["/v1/stats"],
    ["/metrics"],
  ])) as Seen[];
  const statuses = replies.map((reply) => reply.status);
  expect(statuses).toEqual([304, 204, 412, 204, 200, 200, 204, 404, 404, 200, 200]);
  expect(replies[5]?.body).toContain('"value":"3"');
  expect(JSON.parse(replies[7]?.body ?? "")).toMatchObject({ status: 404 });
});

test("a page receives the tree and its changes as events", async ({ context, origin, serve }) => {
  const address = await serve("--allow-origin", origin, "--memory", "64MiB");
  const page = await context.newPage();
  await blank(page, origin);
  const messages = await page.evaluate(async (address) => {
    const events = new EventSource(`${address}/events`);
    const messages: string[] = [];
    const seen = new Promise<void>((seen, failed) => {
      events.onerror = () => failed(new Error(`state ${events.readyState}`));
      events.onmessage = ({ data }) => {
        messages.push(data as string);
        if (messages.length === 3) seen();
      };
    });
    const body = crypto.getRandomValues(new Uint8Array(1 << 16));
    // Until the engine has something to report.
    for (let i = 0; messages.length < 3; i += 1)
      await fetch(`${address}/v1/default/keys/${i}`, { method: "PUT", body });
    await seen;
    events.close();
    return messages;
  }, address);
  for (const message of messages) expect(JSON.parse(message)).toBeInstanceOf(Object);
});

test("a page sends its token, and a preflight needs none", async ({
  context,
  folder,
  origin,
  serve,
}) => {
  const digest = createHash("sha256").update("secret").digest("hex");
  const tokens = join(folder, "tokens");
  writeFileSync(tokens, `page ${digest} write default\n`);
  const address = await serve("--allow-origin", origin, "--tokens", tokens);
  const page = await context.newPage();
  await blank(page, origin);
  const key = "/v1/default/keys/a";
  const authorization = { Authorization: "Bearer secret" };
  const replies = (await ask(page, address, [
    [key, "PUT", authorization, "1"],
    [key, "GET", authorization],
    [key],
    [key, "PUT", { Authorization: "Bearer other" }, "2"],
    ["/v1/stats", "GET", authorization],
  ])) as Seen[];
  expect(replies.map((reply) => reply.status)).toEqual([204, 200, 401, 401, 403]);
  expect(JSON.parse(replies[2]?.body ?? "")).toMatchObject({ found: "none" });
});

test("a page of another origin reads nothing, and writes nothing", async ({
  context,
  origin,
  serve,
}) => {
  const address = await serve("--allow-origin", "https://allowed.example");
  const key = `${address}/v1/default/keys/a`;
  expect((await fetch(key, { method: "PUT", body: "1" })).status).toBe(204);
  const page = await context.newPage();
  await blank(page, origin);
  const batch = JSON.stringify({ do: [{ op: "put", key: "a", value: "2" }] });
  const replies = await ask(page, address, [
    ["/v1/default/keys/a"],
    ["/v1/default/keys/a", "PUT", {}, "2"],
    ["/v1/default/keys/a", "DELETE"],
    // No preflight precedes these: they must be refused by themselves.
    ["/v1/batch", "POST", { "Content-Type": "text/plain" }, batch],
    ["/v1/batch", "POST", { "Content-Type": "application/x-www-form-urlencoded" }, batch],
    ["/v1/default/range?gte=a", "DELETE"],
    ["/metrics"],
  ]);
  expect(new Set(replies)).toEqual(new Set(["TypeError"]));
  const opaque = await page.evaluate(
    async ([address, body]) => {
      const init = { method: "POST", mode: "no-cors", body } as const;
      await fetch(`${address}/v1/batch`, init).catch(() => {});
      const form = document.createElement("form");
      form.action = `${address}/v1/batch`;
      form.method = "post";
      form.enctype = "text/plain";
      const events = new EventSource(`${address}/v1/default/events`);
      const state = await new Promise((state) => {
        events.onerror = () => state(events.readyState);
        events.onmessage = () => state("a message");
      });
      events.close();
      return state;
    },
    [address, batch] as const,
  );
  expect(opaque).toBe(2);
  expect(await (await fetch(key)).text()).toBe("1");
});

test("a page writes nothing through the door for Redis's protocol", async ({
  context,
  origin,
  serveBoth,
}) => {
  const [http, resp] = await serveBoth("--allow-origin", origin);
  const page = await context.newPage();
  await blank(page, origin);
  const commands = "\r\nSET a 1\r\nSET a 2\r\n";
  const [posted] = await ask(page, resp.replace("redis:", "http:"), [["/", "POST", {}, commands]]);
  expect(posted).toBe("TypeError");
  expect((await fetch(`${http}/v1/default/keys/a`)).status).toBe(404);
});
