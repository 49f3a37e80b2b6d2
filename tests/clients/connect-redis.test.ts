/** connect-redis: by the contract that express-session has for its stores, and below express-session itself. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { RedisStore } from "connect-redis";
import session, { type SessionData } from "express-session";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { PATIENCE } from "./patience.ts";
import { serveAll } from "./server.ts";

declare module "express-session" {
  interface SessionData {
    visits: number;
  }
}

const server = serveAll();

/** Returns a session whose cookie expires in `seconds`, or else with the browser. */
function visit(visits: number, seconds?: number): SessionData {
  const expires = seconds === undefined ? null : new Date(Date.now() + seconds * 1000);
  return { visits, cookie: { originalMaxAge: null, ...(expires !== null && { expires }) } };
}

describe.each([2, 3] as const)("connect-redis over RESP%i", (RESP) => {
  async function connected() {
    const client = createClient({
      url: server().resp.href,
      commandOptions: { timeout: PATIENCE },
      RESP,
    });
    onTestFinished(() => client.destroy());
    await client.connect();
    await client.flushAll();
    return client;
  }

  test("a session is set, read, touched and destroyed", async () => {
    const client = await connected();
    const store = new RedisStore({ client });
    expect(await store.get("none")).toBeNull();
    await store.set("a", visit(1));
    expect(await store.get("a")).toEqual(visit(1));
    expect(await client.ttl("sess:a")).toBeGreaterThan(3600);
    expect(await client.ttl("sess:a")).toBeLessThanOrEqual(86_400);
    await store.set("b", visit(2, 3600));
    expect(await client.ttl("sess:b")).toBeLessThanOrEqual(3600);
    await store.touch("b", visit(2, 7200));
    expect(await client.ttl("sess:b")).toBeGreaterThan(3600);
    await store.touch("none", visit(0, 7200));
    expect(await store.get("none")).toBeNull();
    await store.destroy("a");
    await store.destroy("a");
    expect(await store.get("a")).toBeNull();
    // A session that has expired is not kept.
    await store.set("b", visit(3, -1));
    expect(await store.get("b")).toBeNull();
  });

  test("all sessions of a prefix are listed, counted and cleared", async () => {
    const client = await connected();
    const store = new RedisStore({ client, prefix: "app:", scanCount: 10 });
    const other = new RedisStore({ client, prefix: "apps:", disableTTL: true });
    await other.set("a", visit(7));
    expect(await client.ttl("apps:a")).toBe(-1);
    expect(await store.all()).toEqual([]);
    const ids = Array.from({ length: 500 }, (_, i) => `id ${i}`).sort();
    await Promise.all(ids.map((id, i) => store.set(id, visit(i))));
    expect(await store.length()).toBe(ids.length);
    expect((await store.ids()).sort()).toEqual(ids);
    const all = (await store.all()) as (SessionData & { id: string })[];
    all.sort((one, another) => one.visits - another.visits);
    expect(all).toEqual(ids.map((id, i) => ({ ...visit(i), id })));
    await store.clear();
    expect(await store.length()).toBe(0);
    expect(await other.ids()).toEqual(["a"]);
  });

  test("a visitor keeps a session until it is destroyed", async () => {
    const store = new RedisStore({ client: await connected(), prefix: "visitors:" });
    const sessions = session({ store, secret: "s", resave: false, saveUninitialized: false });
    const site = createServer((request, response) => {
      const incoming = request as Parameters<typeof sessions>[0];
      sessions(incoming, response as Parameters<typeof sessions>[1], (error?: unknown) => {
        if (error !== undefined) return response.writeHead(500).end(String(error));
        if (request.url === "/out") return incoming.session.destroy(() => response.end("out"));
        incoming.session.visits = (incoming.session.visits ?? 0) + 1;
        return response.end(String(incoming.session.visits));
      });
    });
    onTestFinished(() => void site.close());
    await once(site.listen(0, "127.0.0.1"), "listening");
    const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const first = await fetch(address);
    const cookie = first.headers.get("set-cookie")!.split(";")[0]!;
    expect(await first.text()).toBe("1");
    const ask = async (path = ""): Promise<string> =>
      await (await fetch(address + path, { headers: { cookie } })).text();
    expect(await ask()).toBe("2");
    expect(await ask()).toBe("3");
    expect(await store.length()).toBe(1);
    expect(await ask("/out")).toBe("out");
    expect(await store.length()).toBe(0);
    expect(await ask()).toBe("1");
  });
});
