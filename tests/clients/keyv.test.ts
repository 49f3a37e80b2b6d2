/** @keyv/redis, under the suite that Keyv has for its adapters. */

import KeyvRedis, { createKeyv } from "@keyv/redis";
import keyvSuite, { keyvIteratorTests } from "@keyv/test-suite";
import { Keyv } from "keyv";
import * as vitest from "vitest";
import { serveAll } from "./server.ts";

const { afterAll, describe, expect, onTestFinished, test } = vitest;

const server = serveAll();
const adapters: KeyvRedis<string>[] = [];

afterAll(async () => {
  await Promise.all(adapters.map((adapter) => adapter.disconnect()));
});

function adapter(): KeyvRedis<string> {
  const made = new KeyvRedis<string>(server().resp.href);
  adapters.push(made);
  return made;
}

// Some of its values expire within seconds, which a busy machine may take between two statements.
describe("the suite of adapters", { retry: 5 }, () => {
  keyvSuite(vitest, Keyv, adapter);
  keyvIteratorTests(vitest, Keyv, adapter);
});

test("a namespace is written, listed and cleared alone", async () => {
  const keyv = createKeyv(server().resp.href, { namespace: "cache", throwOnErrors: true });
  onTestFinished(() => keyv.disconnect());
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`).sort();
  const redis = await adapter().getClient();
  await redis.set("cache", "beside");
  await redis.set("cached::a", "beside");
  await keyv.setMany(keys.map((key) => ({ key, value: { key }, ttl: 3_600_000 })));
  expect(await keyv.hasMany([keys[0]!, "none"])).toEqual([true, false]);
  expect(await keyv.getMany([keys[1]!, "none"])).toEqual([{ key: keys[1] }, undefined]);
  expect(await redis.ttl(`cache::${keys[2]}`)).toBeGreaterThan(0);
  const seen: string[] = [];
  for await (const [key] of keyv.iterator!({})) seen.push(key as string);
  expect(seen.sort()).toEqual(keys);
  expect(await keyv.deleteMany(keys.slice(0, 10))).toBe(true);
  await keyv.clear();
  expect(await redis.exists(keys.map((key) => `cache::${key}`))).toBe(0);
  expect(await redis.exists(["cache", "cached::a"])).toBe(2);
});
