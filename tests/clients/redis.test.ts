/** node-redis, over both versions of the protocol. */

import {
  createClient,
  createClientPool,
  ErrorReply,
  MultiErrorReply,
  RESP_TYPES,
  WatchError,
} from "redis";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { BYTES } from "./bytes.ts";
import { certify } from "./certificate.ts";
import { PATIENCE } from "./patience.ts";
import { Relay } from "./relay.ts";
import { Folder, Server, serveAll } from "./server.ts";
import { token, writeTokens } from "./tokens.ts";

/** Without a longer time the client abandons commands after five seconds. */
const commandOptions = { timeout: PATIENCE };
const BINARY = { [RESP_TYPES.BLOB_STRING]: Buffer };

const server = serveAll();

describe.each([2, 3] as const)("redis over RESP%i", (RESP) => {
  type Options = NonNullable<Parameters<typeof createClient>[0]>;

  function client(options: Omit<Options, "RESP"> = {}) {
    const socket = { connectTimeout: PATIENCE, ...options.socket } as Options["socket"];
    const made = createClient({
      url: server().resp.href,
      ...options,
      socket,
      commandOptions,
      RESP,
    });
    // Lost connections are reported here; tests see them by what fails.
    made.on("error", () => {});
    onTestFinished(() => {
      if (made.isOpen) made.destroy();
    });
    return made;
  }

  async function connected(options: Omit<Options, "RESP"> = {}) {
    return await client(options).connect();
  }

  beforeEach(async () => {
    const redis = await connected();
    await redis.flushAll();
    await redis.close();
  });

  test("strings are written and read", async () => {
    const redis = await connected();
    expect(await redis.ping()).toBe("PONG");
    expect(await redis.get("a")).toBeNull();
    expect(await redis.set("a", "ä")).toBe("OK");
    expect(await redis.get("a")).toBe("ä");
    expect(await redis.set("a", "2", { condition: "NX" })).toBeNull();
    expect(await redis.set("a", "2", { condition: "XX", GET: true })).toBe("ä");
    expect(await redis.set("a", "1", { condition: "IFEQ", matchValue: "1" })).toBeNull();
    expect(await redis.delEx("a", { condition: "IFEQ", matchValue: "1" })).toBe(0);
    expect(await redis.mSet({ b: "3", c: "4" })).toBe("OK");
    expect(await redis.mGet(["a", "b", "none", "c"])).toEqual(["2", "3", null, "4"]);
    expect(await redis.setNX("a", "5")).toBe(0);
    expect(await redis.incrBy("a", 40)).toBe(42);
    expect(await redis.decr("a")).toBe(41);
    expect(await redis.incrByFloat("a", 0.5)).toBe("41.5");
    expect(await redis.append("a", "0")).toBe(5);
    expect(await redis.strLen("a")).toBe(5);
    expect(await redis.getRange("a", 0, 1)).toBe("41");
    expect(await redis.setRange("a", 0, "5")).toBe(5);
    expect(await redis.getSet("a", "x")).toBe("51.50");
    expect(await redis.getDel("a")).toBe("x");
    expect(await redis.exists(["a", "b", "c"])).toBe(2);
    expect(await redis.rename("b", "d")).toBe("OK");
    expect(await redis.copy("d", "e")).toBe(1);
    expect(await redis.type("e")).toBe("string");
    expect((await redis.keys("*")).sort()).toEqual(["c", "d", "e"]);
    expect(await redis.dbSize()).toBe(3);
    expect(["c", "d", "e"]).toContain(await redis.randomKey());
    expect(await redis.del(["c", "d"])).toBe(2);
    expect(await redis.unlink("e")).toBe(1);
  });

  test("values expire", async () => {
    const redis = await connected();
    await redis.set("a", "1", { expiration: { type: "EX", value: 3600 } });
    expect(await redis.ttl("a")).toBeGreaterThan(0);
    expect(await redis.ttl("a")).toBeLessThanOrEqual(3600);
    expect(await redis.expire("a", 7200, "LT")).toBe(0);
    expect(await redis.persist("a")).toBe(1);
    expect(await redis.ttl("a")).toBe(-1);
    expect(await redis.ttl("none")).toBe(-2);
    const at = new Date(Date.now() + 3_600_000);
    expect(await redis.pExpireAt("a", at)).toBe(1);
    expect(await redis.pExpireTime("a")).toBe(at.getTime());
    expect(await redis.getEx("a", { type: "PERSIST" })).toBe("1");
    expect(await redis.expireTime("a")).toBe(-1);
    await redis.setEx("b", 3600, "2");
    await redis.pSetEx("c", 1, "3");
    await expect.poll(() => redis.get("c")).toBeNull();
    expect(await redis.get("b")).toBe("2");
  });

  test("iterators see every key once", async () => {
    const redis = await connected();
    const keys = Array.from({ length: 2500 }, (_, i) => `key:${i}`).sort();
    await redis.mSet(Object.fromEntries(keys.map((key) => [key, key])));
    await redis.set("other", "1");
    for (const COUNT of [undefined, 7, 1000, 10_000]) {
      const seen: string[] = [];
      const options = { MATCH: "key:*", TYPE: "string", ...(COUNT !== undefined && { COUNT }) };
      for await (const page of redis.scanIterator(options)) seen.push(...page);
      expect(seen.sort()).toEqual(keys);
    }
  });

  test("pipelines are answered in their order", async () => {
    const redis = await connected();
    const replies = await Promise.all(
      Array.from({ length: 5000 }, (_, i) => (i % 2 ? redis.get("n") : redis.incr("n"))),
    );
    expect(replies).toEqual(
      Array.from({ length: 5000 }, (_, i) => (i % 2 ? String((i + 1) / 2) : i / 2 + 1)),
    );
    const pipeline = redis.multi().set("a", "1").incr("a").get("a").exists("b");
    expect(await pipeline.execAsPipeline()).toEqual(["OK", 2, "2", 0]);
  });

  test("transactions take effect as one", async () => {
    const redis = await connected();
    expect(await redis.multi().set("a", "1").incr("a").get("none").exec()).toEqual(["OK", 2, null]);
    const failing = redis.multi().set("b", "x").incr("b").set("c", "3").exec();
    const error = await failing.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(MultiErrorReply);
    expect((error as MultiErrorReply).errorIndexes).toEqual([1]);
    expect(await redis.get("c")).toBe("3");
    const refused = redis.multi().set("d", "1").addCommand(["NOSUCH"]).exec();
    await expect(refused).rejects.toThrow(/EXECABORT|unknown command/);
    expect(await redis.get("d")).toBeNull();
  });

  test("a transaction fails if a watched key has changed", async () => {
    const [redis, other] = [await connected(), await connected()];
    await redis.set("a", "1");
    await redis.watch("a");
    await other.set("a", "2");
    await expect(redis.multi().set("a", "3").exec()).rejects.toBeInstanceOf(WatchError);
    expect(await redis.get("a")).toBe("2");
    await redis.watch("a");
    expect(await redis.multi().set("a", "3").exec()).toEqual(["OK"]);
    await redis.watch("a");
    await redis.unwatch();
    await other.set("a", "4");
    expect(await redis.multi().get("a").exec()).toEqual(["4"]);
  });

  test("counters of a pool lose no increment", async () => {
    const pool = createClientPool(
      { url: server().resp.href, commandOptions, RESP },
      { maximum: 4 },
    );
    await pool.connect();
    onTestFinished(() => pool.destroy());
    const increment = async (): Promise<void> => {
      for (;;) {
        const done = await pool.execute(async (redis) => {
          await redis.watch("n");
          const value = Number(await redis.get("n"));
          return await redis
            .multi()
            .set("n", value + 1)
            .exec()
            .catch((error: unknown) => {
              if (error instanceof WatchError) return null;
              throw error;
            });
        });
        if (done !== null) return;
      }
    };
    await Promise.all(Array.from({ length: 50 }, increment));
    expect(await pool.get("n")).toBe("50");
  });

  test("errors are rejections, and the connection stays", async () => {
    const redis = await connected();
    await redis.set("a", "x");
    await expect(redis.incr("a")).rejects.toThrow("ERR value is not an integer or out of range");
    await expect(redis.hSet("h", "f", "1")).rejects.toThrow("ERR unknown command 'HSET'");
    await expect(redis.eval("return 1")).rejects.toBeInstanceOf(ErrorReply);
    await expect(redis.sendCommand(["GET"])).rejects.toThrow("wrong number of arguments");
    await expect(redis.select(16)).rejects.toThrow("ERR DB index is out of range");
    expect(await redis.get("a")).toBe("x");
  });

  test("keys and values are any bytes", async () => {
    const redis = (await connected()).withTypeMapping(BINARY);
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await redis.set(BYTES, all);
    expect(await redis.get(BYTES)).toEqual(all);
    expect(await redis.mGet([BYTES, all])).toEqual([all, null]);
    expect(await redis.keys("*")).toEqual([BYTES]);
    const long = Buffer.alloc(3 << 20, BYTES);
    await redis.set("long", long);
    expect((await redis.get("long"))?.equals(long)).toBe(true);
    expect(await redis.multi().get(BYTES).strLen(all).execAsPipeline()).toEqual([all, 0]);
    expect(await redis.multi().set(all, BYTES).copy(all, BYTES).exec()).toEqual(["OK", 0]);
    expect(await redis.get(all)).toEqual(BYTES);
    await redis.set("", "");
    expect(await redis.get("")).toEqual(Buffer.alloc(0));
  });

  test("databases are apart", async () => {
    const redis = await connected();
    const third = await connected({ url: `${server().resp.href}/3` });
    await redis.set("a", "0");
    expect(await third.get("a")).toBeNull();
    await third.set("a", "3");
    await redis.select(3);
    expect(await redis.get("a")).toBe("3");
    expect(await redis.move("a", 0)).toBe(0);
    await redis.flushDb();
    expect(await third.dbSize()).toBe(0);
    await redis.select(0);
    expect(await redis.get("a")).toBe("0");
  });

  test("the server describes itself", async () => {
    const redis = await connected({ name: "me" });
    expect(await redis.clientGetName()).toBe("me");
    expect(await redis.clientId()).toBeGreaterThan(0);
    expect(await redis.info("server")).toContain("redis_version:");
    expect(await redis.configGet("databases")).toEqual({ databases: "16" });
    expect(Number((await redis.time())[0])).toBeGreaterThan(0);
    const info = await redis.clientInfo();
    expect(info).toMatchObject({ name: "me", db: 0, libName: "node-redis", user: "default" });
    expect(Object.entries(info).filter(([, value]) => Number.isNaN(value))).toEqual([]);
    expect(await redis.clientList()).toHaveLength(1);
    expect(await redis.commandCount()).toBe((await redis.command()).length);
    const [get, ping] = await redis.commandInfo(["GET", "PING"]);
    expect([get?.isKeyless, ping?.isKeyless]).toEqual([false, true]);
    expect(await redis.commandGetKeys(["MSET", "a", "1", "b", "2"])).toEqual(["a", "b"]);
    expect(await redis.wait(0, 0)).toBe(0);
    expect(await redis.hello(RESP)).toMatchObject({ server: "redis", proto: RESP });
    await redis.reset();
    expect(await redis.hello()).toMatchObject({ proto: RESP });
  });

  test("a client connects again after the server was started anew", async () => {
    using own = new Folder();
    const relay = new Relay(own);
    const redis = client({ url: undefined, socket: { path: relay.path, tls: false }, database: 2 });
    const connecting = redis.connect();
    const ends = ["stop", "kill", "stop"] as const;
    for (const [before, end] of ends.entries()) {
      // Asked while there is no server, and answered by the next.
      const count = redis.incr("n");
      await using started = await Server.on(own);
      await relay.open(started);
      expect(await count).toBe(before + 1);
      await connecting;
      const lost = new Promise((lost) => redis.once("reconnecting", lost));
      relay.close();
      await started[end]();
      await lost;
    }
  });

  test("tokens are passwords, of users or of the default one", async () => {
    using own = new Folder();
    const lines = [
      token("ann", "secret of ann", "write", "default", "user%3A"),
      token("bob", "secret of bob", "read"),
    ];
    await using guarded = await Server.on(own, ...writeTokens(own, ...lines));
    const url = guarded.resp.href;
    const once = { url, socket: { reconnectStrategy: false } } as const;
    const anonymous = connected(once).then((redis) => redis.get("user:1"));
    await expect(anonymous).rejects.toThrow("NOAUTH");
    for (const username of [undefined, "bob", "default", "nobody"]) {
      const wrong = connected({ ...once, username, password: "secret of none" });
      await expect(wrong).rejects.toThrow("WRONGPASS");
    }
    const another = connected({ ...once, username: "bob", password: "secret of ann" });
    await expect(another).rejects.toThrow("WRONGPASS");
    const ann = await connected({ url, username: "ann", password: "secret of ann" });
    expect(await ann.set("user:1", "1")).toBe("OK");
    await expect(ann.set("other", "1")).rejects.toThrow("NOPERM");
    await expect(ann.keys("*")).rejects.toThrow("NOPERM");
    expect(await ann.keys("user:*")).toEqual(["user:1"]);
    const bob = await connected({ url, password: "secret of bob" });
    expect(await bob.get("user:1")).toBe("1");
    await expect(bob.set("user:1", "2")).rejects.toThrow("NOPERM");
    await expect(bob.multi().get("user:1").del("user:1").exec()).rejects.toThrow();
    expect(await bob.get("user:1")).toBe("1");
  });

  test("TLS is spoken with a certificate that is trusted", async () => {
    using own = new Folder();
    const { ca, options } = certify(own);
    await using secure = await Server.on(own, ...options);
    const url = `rediss://localhost:${secure.port}`;
    const redis = await connected({ url, socket: { tls: true, ca } });
    await redis.set("a", "1");
    expect(await redis.get("a")).toBe("1");
    const untrusted = connected({ url, socket: { tls: true, reconnectStrategy: false } });
    await expect(untrusted).rejects.toThrow("self-signed certificate");
  });
});
