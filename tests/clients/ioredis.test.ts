/** ioredis 5 and 6, over both versions of the protocol. */

import { Redis as Redis5 } from "ioredis";
import { Redis, type RedisOptions } from "ioredis-6";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { BYTES } from "./bytes.ts";
import { certify } from "./certificate.ts";
import { PATIENCE } from "./patience.ts";
import { Relay } from "./relay.ts";
import { Folder, Server, serveAll } from "./server.ts";
import { token, writeTokens } from "./tokens.ts";

/** The versions with their options. Version 5 speaks RESP2 alone. */
const versions: readonly [string, typeof Redis, RedisOptions][] = [
  ["ioredis 5 over RESP2", Redis5 as unknown as typeof Redis, {}],
  ["ioredis 6 over RESP2", Redis, { protocol: 2 }],
  ["ioredis 6 over RESP3", Redis, { protocol: 3 }],
  ["ioredis 6 over RESP3, with its shapes", Redis, { protocol: 3, replyMapping: "resp3" }],
];

const server = serveAll();

describe.each(versions)("%s", (_, Client, version) => {
  function client(options: RedisOptions = {}): Redis {
    const made = new Client({
      port: server().port,
      connectTimeout: PATIENCE,
      ...version,
      ...options,
    });
    // Lost connections are reported here; tests see them by what fails.
    made.on("error", () => {});
    onTestFinished(() => made.disconnect());
    return made;
  }

  /** Returns the error of a client that cannot connect. */
  async function failure(options: RedisOptions): Promise<string> {
    const redis = client({ ...options, lazyConnect: true, retryStrategy: () => null });
    const failed = new Promise<Error>((failed) => redis.once("error", failed));
    redis.connect().catch(() => {});
    return (await failed).message;
  }

  beforeEach(async () => {
    const redis = client();
    await redis.flushall();
    expect(await redis.quit()).toBe("OK");
  });

  test("strings are written and read", async () => {
    const redis = client();
    expect(await redis.ping()).toBe("PONG");
    expect(await redis.get("a")).toBeNull();
    expect(await redis.set("a", "ä")).toBe("OK");
    expect(await redis.get("a")).toBe("ä");
    expect(await redis.set("a", "2", "NX")).toBeNull();
    expect(await redis.set("a", "2", "XX", "GET")).toBe("ä");
    expect(await redis.mset({ b: "3", c: "4" })).toBe("OK");
    expect(await redis.mget("a", "b", "none", "c")).toEqual(["2", "3", null, "4"]);
    expect(await redis.setnx("a", "5")).toBe(0);
    expect(await redis.incrby("a", 40)).toBe(42);
    expect(await redis.decr("a")).toBe(41);
    expect(await redis.incrbyfloat("a", 0.5)).toBe("41.5");
    expect(await redis.append("a", "0")).toBe(5);
    expect(await redis.strlen("a")).toBe(5);
    expect(await redis.getrange("a", 0, 1)).toBe("41");
    expect(await redis.setrange("a", 0, "5")).toBe(5);
    expect(await redis.getset("a", "x")).toBe("51.50");
    expect(await redis.getdel("a")).toBe("x");
    expect(await redis.exists("a", "b", "c")).toBe(2);
    expect(await redis.rename("b", "d")).toBe("OK");
    expect(await redis.copy("d", "e")).toBe(1);
    expect(await redis.type("e")).toBe("string");
    expect((await redis.keys("*")).sort()).toEqual(["c", "d", "e"]);
    expect(await redis.dbsize()).toBe(3);
    expect(["c", "d", "e"]).toContain(await redis.randomkey());
    expect(await redis.del("c", "d")).toBe(2);
    expect(await redis.unlink("e")).toBe(1);
  });

  test("values expire", async () => {
    const redis = client();
    await redis.set("a", "1", "EX", 3600);
    expect(await redis.ttl("a")).toBeGreaterThan(0);
    expect(await redis.ttl("a")).toBeLessThanOrEqual(3600);
    expect(await redis.expire("a", 7200, "LT")).toBe(0);
    expect(await redis.persist("a")).toBe(1);
    expect(await redis.ttl("a")).toBe(-1);
    expect(await redis.ttl("none")).toBe(-2);
    const at = Date.now() + 3_600_000;
    expect(await redis.pexpireat("a", at)).toBe(1);
    expect(await redis.pexpiretime("a")).toBe(at);
    expect(await redis.getex("a", "PERSIST")).toBe("1");
    expect(await redis.expiretime("a")).toBe(-1);
    await redis.setex("b", 3600, "2");
    await redis.psetex("c", 1, "3");
    await expect.poll(() => redis.get("c")).toBeNull();
    expect(await redis.get("b")).toBe("2");
  });

  test("iterators see every key once", async () => {
    const redis = client();
    const keys = Array.from({ length: 2500 }, (_, i) => `key:${i}`).sort();
    await redis.mset(Object.fromEntries(keys.map((key) => [key, key])));
    await redis.set("other", "1");
    for (const count of [undefined, 7, 1000, 10_000]) {
      const options = { match: "key:*", type: "string", ...(count !== undefined && { count }) };
      const seen: string[] = [];
      for await (const page of redis.scanStream(options)) seen.push(...(page as string[]));
      expect(seen.sort()).toEqual(keys);
    }
    const seen: Buffer[] = [];
    for await (const page of redis.scanBufferStream({ match: "key:1?" }))
      seen.push(...(page as Buffer[]));
    expect(seen.map(String)).toEqual(keys.filter((key) => /^key:1.$/.test(key)));
  });

  test("pipelines are answered in their order", async () => {
    const redis = client({ enableAutoPipelining: true });
    const asked = Array.from({ length: 5000 }, (_, i) =>
      i % 2 ? redis.get("n") : redis.incr("n"),
    );
    expect(await Promise.all(asked)).toEqual(
      Array.from({ length: 5000 }, (_, i) => (i % 2 ? String((i + 1) / 2) : i / 2 + 1)),
    );
    const pipeline = redis.pipeline().set("a", "x").incr("a").get("a").exists("b");
    const replies = await pipeline.exec();
    expect(replies?.map(([, reply]) => reply)).toEqual(["OK", undefined, "x", 0]);
    expect(replies?.[1]?.[0]?.message).toContain("not an integer");
  });

  test("transactions take effect as one", async () => {
    const redis = client();
    const replies = await redis.multi().set("a", "1").incr("a").get("none").exec();
    expect(replies).toEqual([
      [null, "OK"],
      [null, 2],
      [null, null],
    ]);
    const failing = await redis.multi().set("b", "x").incr("b").set("c", "3").exec();
    expect(failing?.[1]?.[0]?.message).toContain("not an integer");
    expect(await redis.get("c")).toBe("3");
    const refused = redis.multi().set("d", "1").hset("h", "f", "1").exec();
    await expect(refused).rejects.toThrow("EXECABORT");
    expect(await redis.get("d")).toBeNull();
    expect(await redis.multi({ pipeline: false })).toBe("OK");
    await redis.set("d", "1");
    expect(await redis.discard()).toBe("OK");
    expect(await redis.get("d")).toBeNull();
  });

  test("a transaction fails if a watched key has changed", async () => {
    const [redis, other] = [client(), client()];
    await redis.set("a", "1");
    await redis.watch("a");
    await other.set("a", "2");
    expect(await redis.multi().set("a", "3").exec()).toBeNull();
    expect(await redis.get("a")).toBe("2");
    await redis.watch("a");
    expect(await redis.multi().set("a", "3").exec()).toEqual([[null, "OK"]]);
    await redis.watch("a");
    await redis.unwatch();
    await other.set("a", "4");
    expect(await redis.multi().get("a").exec()).toEqual([[null, "4"]]);
  });

  test("counters of several connections lose no increment", async () => {
    const clients = Array.from({ length: 4 }, () => client());
    const increment = async (redis: Redis): Promise<void> => {
      for (let done = 0; done < 10;) {
        await redis.watch("n");
        const value = Number(await redis.get("n"));
        if (
          (await redis
            .multi()
            .set("n", value + 1)
            .exec()) !== null
        )
          done += 1;
      }
    };
    await Promise.all(clients.map(increment));
    expect(await client().get("n")).toBe("40");
  });

  test("errors are rejections, and the connection stays", async () => {
    const redis = client();
    await redis.set("a", "x");
    await expect(redis.incr("a")).rejects.toThrow("ERR value is not an integer or out of range");
    await expect(redis.hset("h", "f", "1")).rejects.toThrow("ERR unknown command 'hset'");
    await expect(redis.eval("return 1", 0)).rejects.toMatchObject({ name: "ReplyError" });
    await expect(redis.call("GET")).rejects.toThrow("wrong number of arguments");
    await expect(redis.select(16)).rejects.toThrow("ERR DB index is out of range");
    expect(await redis.get("a")).toBe("x");
  });

  test("keys and values are any bytes", async () => {
    const redis = client();
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await redis.set(BYTES, all);
    expect(await redis.getBuffer(BYTES)).toEqual(all);
    expect(await redis.mgetBuffer(BYTES, all)).toEqual([all, null]);
    expect(await redis.keysBuffer("*")).toEqual([BYTES]);
    const long = Buffer.alloc(3 << 20, BYTES);
    expect(await redis.set("long", long)).toBe("OK");
    expect((await redis.getBuffer("long"))?.equals(long)).toBe(true);
    expect(await redis.multi().getBuffer(BYTES).exec()).toEqual([[null, all]]);
    await redis.set("", "");
    expect(await redis.getBuffer("")).toEqual(Buffer.alloc(0));
  });

  test("databases are apart", async () => {
    const [redis, third] = [client({ keyPrefix: "of:" }), client({ db: 3 })];
    await redis.set("a", "0");
    expect(await third.get("of:a")).toBeNull();
    await third.set("of:a", "3");
    await redis.select(3);
    expect(await redis.get("a")).toBe("3");
    expect(await redis.move("a", 0)).toBe(0);
    await redis.flushdb();
    expect(await third.dbsize()).toBe(0);
    await redis.select(0);
    expect(await redis.get("a")).toBe("0");
  });

  test("the server describes itself", async () => {
    const redis = client({ connectionName: "me" });
    expect(await redis.client("GETNAME")).toBe("me");
    expect(await redis.client("ID")).toBeGreaterThan(0);
    expect(await redis.client("INFO")).toMatch(/ name=me .* user=default .* lib-name=ioredis /);
    expect(await redis.info("server")).toContain("redis_version:");
    expect(Number((await redis.time())[0])).toBeGreaterThan(0);
    expect(await redis.command("COUNT")).toBe(((await redis.call("COMMAND")) as unknown[]).length);
    expect(await redis.wait(0, 0)).toBe(0);
    expect(await redis.echo("ä")).toBe("ä");
    const settings: unknown = await redis.config("GET", "databases");
    const hasShapes = version.replyMapping === "resp3";
    expect(settings).toEqual(hasShapes ? { databases: "16" } : ["databases", "16"]);
  });

  test("a client connects again after the server was started anew", async () => {
    using own = new Folder();
    const relay = new Relay(own);
    const redis = client({ path: relay.path, db: 2, maxRetriesPerRequest: null });
    const ends = ["stop", "kill", "stop"] as const;
    for (const [before, end] of ends.entries()) {
      // Asked while there is no server, and answered by the next.
      const count = redis.incr("n");
      await using started = await Server.on(own);
      await relay.open(started);
      expect(await count).toBe(before + 1);
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
    const { port } = guarded;
    expect(await failure({ port })).toContain("NOAUTH");
    for (const username of [undefined, "bob", "default", "nobody"])
      expect(await failure({ port, username, password: "secret" })).toContain("WRONGPASS");
    const another = { port, username: "bob", password: "secret of ann" };
    expect(await failure(another)).toContain("WRONGPASS");
    const ann = client({ port, username: "ann", password: "secret of ann" });
    expect(await ann.set("user:1", "1")).toBe("OK");
    await expect(ann.set("other", "1")).rejects.toThrow("NOPERM");
    await expect(ann.keys("*")).rejects.toThrow("NOPERM");
    expect(await ann.keys("user:*")).toEqual(["user:1"]);
    const bob = client({ port, password: "secret of bob" });
    expect(await bob.get("user:1")).toBe("1");
    await expect(bob.set("user:1", "2")).rejects.toThrow("NOPERM");
    await expect(bob.multi().get("user:1").del("user:1").exec()).rejects.toThrow("EXECABORT");
    expect(await bob.get("user:1")).toBe("1");
  });

  test("TLS is spoken with a certificate that is trusted", async () => {
    using own = new Folder();
    const { ca, options } = certify(own);
    await using secure = await Server.on(own, ...options);
    const { port } = secure;
    const redis = client({ host: "localhost", port, tls: { ca } });
    await redis.set("a", "1");
    expect(await redis.get("a")).toBe("1");
    expect(await failure({ host: "localhost", port, tls: {} })).toContain(
      "self-signed certificate",
    );
  });
});
