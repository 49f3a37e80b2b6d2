/** unstorage's driver for Redis, by the contract of its drivers. */

import {
  createStorage,
  type Driver,
  prefixStorage,
  restoreSnapshot,
  snapshot,
  type Storage,
} from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Redis } from "ioredis";
import { serveAll } from "./server.ts";

const server = serveAll();

describe.each([
  ["", undefined],
  ["app", undefined],
  ["app[*]:", 3],
])("unstorage below %o", (base, scanCount) => {
  let driver: Driver;
  let storage: Storage;
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(server().port);
    driver = redisDriver({ url: server().resp.href, base, ...(scanCount && { scanCount }) });
    storage = createStorage({ driver });
  });

  afterEach(async () => {
    await redis.flushall();
  });

  afterAll(async () => {
    await storage.dispose();
    redis.disconnect();
  });

  /** Returns the key of an item in Redis. */
  const inRedis = (key: string): string => [base.replace(/:$/, ""), key].filter(Boolean).join(":");
  const sorted = async (...args: Parameters<Storage["getKeys"]>): Promise<string[]> =>
    (await storage.getKeys(...args)).sort();

  test("a storage without items has none", async () => {
    expect(await storage.hasItem("a:b")).toBe(false);
    expect(await storage.getItem("a:b")).toBeNull();
    expect(await storage.getKeys()).toEqual([]);
    await storage.clear();
    await storage.removeItem("a:b");
  });

  test("items are set, found and removed", async () => {
    await storage.setItem("a:b", "text");
    await storage.setItem("c/d?query", "other");
    expect(await storage.hasItem("a:b")).toBe(true);
    expect(await storage.getItem("a:b")).toBe("text");
    expect(await storage.getItem("c:d")).toBe("other");
    expect(await redis.get(inRedis("a:b"))).toBe("text");
    await storage.removeItem("a:b");
    expect(await storage.hasItem("a:b")).toBe(false);
    expect(await storage.getItem("a:b")).toBeNull();
    expect(await storage.getKeys()).toEqual(["c:d"]);
  });

  test.each([
    ["a number", 0],
    ["a truth value", false],
    ["a list", [1, "2", null]],
    ["an object", { a: { b: "ä" } }],
  ])("%s is kept", async (_, value) => {
    await storage.setItem("a.json", value);
    expect(await storage.getItem("a.json")).toEqual(value);
  });

  test("an object that is no data is refused", async () => {
    await expect(storage.setItem("a", new (class {})() as never)).rejects.toThrow("stringify");
    expect(await storage.hasItem("a")).toBe(false);
  });

  test("raw items are any bytes", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    await storage.setItemRaw("a.bin", bytes);
    const found = await storage.getItemRaw<Uint8Array>("a.bin");
    expect(Buffer.from(found!)).toEqual(Buffer.from(bytes));
  });

  test("several items are set and found together", async () => {
    const items = [1, 2, 3].map((i) => ({ key: `a:${i}`, value: `value ${i}` }));
    await storage.setItems(items);
    expect(await storage.getItems(["a:3", { key: "a:1" }, "none", "a:2?query"])).toEqual([
      { key: "a:3", value: "value 3" },
      { key: "a:1", value: "value 1" },
      { key: "none", value: null },
      { key: "a:2", value: "value 2" },
    ]);
  });

  test("keys are listed below a base and down to a depth", async () => {
    const keys = ["a", "a:b", "a:b:c", "ab:c", "b:c:d:e"];
    await Promise.all(keys.map((key) => storage.setItem(key, key)));
    expect(await sorted()).toEqual(keys);
    expect(await sorted("a")).toEqual(["a:b", "a:b:c"]);
    expect(await sorted("a:b")).toEqual(["a:b:c"]);
    expect(await sorted(undefined, { maxDepth: 0 })).toEqual(["a"]);
    expect(await sorted(undefined, { maxDepth: 1 })).toEqual(["a", "a:b", "ab:c"]);
    const many = Array.from({ length: 500 }, (_, i) => `many:${i}`).sort();
    await storage.setItems(many.map((key) => ({ key, value: key })));
    expect(await sorted("many")).toEqual(many);
  });

  test("a base is cleared alone", async () => {
    await storage.setItems(["a:b", "a:c", "ab:c"].map((key) => ({ key, value: key })));
    await redis.set("beside", "1");
    expect((await prefixStorage(storage, "a").getKeys()).sort()).toEqual(["b", "c"]);
    // A storage clears whole mounts, its driver any base.
    await driver.clear?.("a", {});
    expect(await storage.hasItem("a:b")).toBe(false);
    expect(await storage.hasItem("ab:c")).toBe(true);
    await storage.clear();
    expect(await storage.getKeys()).toEqual([]);
    expect(await redis.exists("beside")).toBe(base === "" ? 0 : 1);
  });

  test("items expire", async () => {
    await storage.setItem("a", "1", { ttl: 3600 });
    expect(await redis.ttl(inRedis("a"))).toBeGreaterThan(0);
    expect(await redis.ttl(inRedis("a"))).toBeLessThanOrEqual(3600);
    await storage.setItem("a", "2");
    expect(await redis.ttl(inRedis("a"))).toBe(-1);
    await storage.setItem("b", "3", { ttl: 1 });
    await expect.poll(() => storage.hasItem("b")).toBe(false);
  });

  test("a snapshot is taken and restored", async () => {
    await storage.setItems(["a:b", "a:c"].map((key) => ({ key, value: key })));
    const taken = await snapshot(storage, "");
    await storage.clear();
    await restoreSnapshot(storage, taken);
    expect(await sorted()).toEqual(["a:b", "a:c"]);
    expect(await storage.getItem("a:c")).toBe("a:c");
  });
});
