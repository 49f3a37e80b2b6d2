/** The package in a page: reads, writes, order and errors. */

import { expect, test } from "./fixtures.ts";
import { opened } from "./tabs.ts";

test("values are read back, also after a reload", async ({ storePage }) => {
  const page = await storePage();
  const before = await page.evaluate(async () => {
    const db = await window.terrane.open("notes");
    await db.put("k", "v");
    await db.put("", "");
    await db.put("gone", "x");
    await db.delete("gone");
    await db.put(new Uint8Array([0, 255]), new Uint8Array([1, 2, 3]), { durability: "sync" });
    return db.getMany(["k", "", "gone"]);
  });
  expect(before).toEqual(["v", "", undefined]);
  await page.reload();
  const after = await page.evaluate(async () => {
    const db = await window.terrane.open("notes");
    const bytes = await db.get(new Uint8Array([0, 255]), { valueEncoding: "binary" });
    return [await db.get("k"), await db.get(""), await db.get("gone"), [...(bytes ?? [])]];
  });
  expect(after).toEqual(["v", "", undefined, [1, 2, 3]]);
});

test("calls take effect in the order in which they are made", async ({ storePage }) => {
  const page = await storePage();
  const seen = await page.evaluate(async () => {
    const db = await window.terrane.open("order");
    const reads: Promise<string | undefined>[] = [];
    for (let i = 0; i < 500; i++) {
      void db.put("k", `${i}`, { durability: i % 7 === 0 ? "sync" : "buffered" });
      reads.push(db.get("k"));
      if (i % 50 === 0) void db.delete("k");
    }
    return Promise.all(reads);
  });
  expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => `${i}`));
});

test("entries are in byte order, in both directions", async ({ storePage }) => {
  const page = await storePage();
  const result = await page.evaluate(async () => {
    const db = await window.terrane.open("entries");
    const keys = Array.from({ length: 2000 }, (_, i) => `${(i * 7919) % 2000}`.padStart(5, "0"));
    await db.batch(keys.map((key) => ({ type: "put", key, value: key.repeat(40) })));
    await db.put("é", "two bytes");
    await db.put("z", "one byte");
    const read = async (options: Parameters<typeof db.entries>[0]) => {
      const found: string[] = [];
      for await (const [key] of db.entries(options)) found.push(key as string);
      return found;
    };
    return {
      all: await read({}),
      range: await read({ gte: "00010", lt: "00013" }),
      open: await read({ gt: "00010", lte: "00013" }),
      last: await read({ reverse: true, limit: 3 }),
      none: await read({ gt: "a", lt: "b" }),
      limit: await read({ limit: 0 }),
      count: await db.count(),
      part: await db.count({ gte: "00010", lt: "00100" }),
    };
  });
  const expected = Array.from({ length: 2000 }, (_, i) => `${i}`.padStart(5, "0"));
  expect(result.all).toEqual([...expected, "z", "é"]);
  expect(result.range).toEqual(["00010", "00011", "00012"]);
  expect(result.open).toEqual(["00011", "00012", "00013"]);
  expect(result.last).toEqual(["é", "z", "01999"]);
  expect(result.none).toEqual([]);
  expect(result.limit).toEqual([]);
  expect(result.count).toBe(2002);
  expect(result.part).toBe(90);
});

test("an iteration shows the store as it was at its call", async ({ storePage }) => {
  const page = await storePage();
  const keys = await page.evaluate(async () => {
    const db = await window.terrane.open("snapshot");
    const value = "x".repeat(100);
    const put = (i: number) => ({ type: "put" as const, key: `${i}`.padStart(5, "0"), value });
    await db.batch(Array.from({ length: 3000 }, (_, i) => put(i)));
    const seen: string[] = [];
    const walk = db.entries();
    await db.put("02998x", "later");
    for await (const [key] of walk) {
      if (seen.length === 0) {
        await db.batch(Array.from({ length: 3000 }, (_, i) => put(i + 3000)));
        await db.delete("02999");
      }
      seen.push(key);
    }
    return seen;
  });
  expect(keys).toEqual(Array.from({ length: 3000 }, (_, i) => `${i}`.padStart(5, "0")));
});

test("a second tab learns who holds the store, then gets it", async ({ storePage, origin }) => {
  const [first, second] = [await storePage(), await storePage()];
  await first.evaluate(() => window.terrane.open("single", { exclusive: true }));
  const rejected = await second.evaluate(() =>
    window.failure(() => window.terrane.open("single", { timeout: 300 })),
  );
  expect(rejected).toMatchObject({ name: "BusyError", code: "busy" });
  expect(rejected?.message).toContain(`open in another tab, ${origin}/pages/store.html, since 20`);
  const own = await first.evaluate(() =>
    window.failure(() => window.terrane.destroy("single", { timeout: 300 })),
  );
  expect(own?.message).toContain("open here; close it first");
  await first.close();
  const then = await second.evaluate(() => window.failure(() => window.terrane.open("single")));
  expect(then).toBeUndefined();
});

test("another copy of the package that keeps others out is named", async ({ storePage }) => {
  const page = await storePage();
  const busy = await page.evaluate(async () => {
    await window.terrane.open("twice", { exclusive: true });
    const copy = "/terrane/dist/client.js?copy";
    const other = (await import(copy)) as typeof window.terrane;
    return window.failure(() => other.open("twice", { timeout: 100 }));
  });
  expect(busy).toMatchObject({ name: "BusyError", code: "busy" });
  expect(busy?.message).toContain('"twice" is open in this page, by another copy of this package');
});

test("a suspended page releases its store and reopens it", async ({ storePage }) => {
  const [first, second] = [await storePage(), await storePage()];
  await first.evaluate(async () => {
    const db = await window.terrane.open("aside");
    Object.assign(window, { db });
    await db.put("a", "1");
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    // A call made meanwhile waits.
    Object.assign(window, { waiting: db.put("c", "3") });
  });
  const found = await second.evaluate(async () => {
    const db = await window.terrane.open("aside");
    await db.put("b", "2");
    const values = await db.getMany(["a", "c"]);
    await db.close();
    return values;
  });
  expect(found).toEqual(["1", undefined]);
  const all = await first.evaluate(async () => {
    const { db, waiting } = window as unknown as {
      db: Awaited<ReturnType<typeof window.terrane.open>>;
      waiting: Promise<void>;
    };
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    await waiting;
    return db.getMany(["a", "b", "c"]);
  });
  expect(all).toEqual(["1", "2", "3"]);
});

for (const role of ["leader", "follower"] as const) {
  test(`a ${role} works after navigating away and back`, async ({
    browserName,
    storePage,
    origin,
  }) => {
    test.skip(browserName === "firefox", "it puts no page with a lock in its back/forward cache");
    if (role === "follower") await opened(await storePage(), "back");
    const page = await opened(await storePage(), "back");
    await page.evaluate(() => window.db.put("a", "1"));
    await page.goto(`${origin}/pages/store.html?elsewhere`);
    await page.waitForFunction(() => "terrane" in window);
    // A page that comes out of the back/forward cache does not load again, and has its variables.
    await page.goBack({ waitUntil: "commit" });
    await page.waitForFunction(() => "db" in window);
    const found = await page.evaluate(async () => {
      void window.db.put("b", "2");
      return [...(await window.db.getMany(["a", "b"])), window.db.role];
    });
    expect(found).toEqual(["1", "2", role]);
  });
}

test("only a closed store can be destroyed", async ({ storePage }) => {
  const page = await storePage();
  const result = await page.evaluate(async () => {
    const { open, destroy } = window.terrane;
    const db = await open("doomed");
    await db.put("k", "v");
    const rejected = await window.failure(() => destroy("doomed", { timeout: 200 }));
    await db.close();
    await destroy("doomed");
    await destroy("doomed");
    const missing = await window.failure(() => open("doomed", { create: false }));
    const fresh = await open("doomed");
    return { rejected, missing, value: await fresh.get("k") };
  });
  expect(result.rejected?.code).toBe("busy");
  expect(result.missing?.code).toBe("not-found");
  expect(result.value).toBeUndefined();
});

test("invalid arguments are named, and the call has no effect", async ({ storePage }) => {
  const page = await storePage();
  const result = await page.evaluate(async () => {
    const { destroy, open, MAX_KEY_BYTES, MAX_VALUE_BYTES } = window.terrane;
    const db = await open("bad");
    const other = await open("other", { storage: "memory" });
    // The calls of a program without types.
    const loose = db as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const large = new Uint8Array(MAX_VALUE_BYTES);
    const failures = {
      name: await window.failure(() => open("a/b")),
      dots: await window.failure(() => open("..")),
      noName: await window.failure(() => open(7 as unknown as string)),
      destroy: await window.failure(() => destroy("")),
      timeout: await window.failure(() => open("c", { timeout: NaN })),
      create: await window.failure(() => open("c", { create: 1 as unknown as boolean })),
      policy: await window.failure(() => open("c", { policy: 7 as unknown as "tiered" })),
      option: await window.failure(() => open("c", { durability: "later" as "sync" })),
      memtable: await window.failure(() => open("c", { memtableBytes: -1 })),
      number: await window.failure(() => loose["put"]?.(1, "v")),
      missing: await window.failure(() => loose["put"]?.("k")),
      long: await window.failure(() => db.put("k".repeat(MAX_KEY_BYTES + 1), "v")),
      value: await window.failure(() => db.put("k", new Uint8Array(MAX_VALUE_BYTES + 1))),
      huge: await window.failure(() =>
        db.batch(["a", "b", "half"].map((key) => ({ type: "put", key, value: large }))),
      ),
      surrogate: await window.failure(() => db.put("\ud800", "v")),
      durability: await window.failure(() => db.put("k", "v", { durability: "no" as "sync" })),
      batch: await window.failure(() =>
        loose["batch"]?.([{ type: "put", key: "half", value: "v" }, { type: "move" }]),
      ),
      noBatch: await window.failure(() => loose["batch"]?.(7)),
      foreign: await window.failure(() =>
        db.batch([
          { type: "put", key: "half", value: "v" },
          { type: "delete", key: "k", keyspace: other },
        ]),
      ),
      keyspace: await window.failure(async () => db.keyspace("")),
      another: await window.failure(async () => db.snapshot().keyspace(other)),
      keys: await window.failure(() => loose["getMany"]?.(7)),
      text: await window.failure(() => loose["getMany"]?.("abc")),
      encoding: await window.failure(() => db.get("k", { valueEncoding: "hex" as "utf8" })),
      bound: await window.failure(async () => loose["entries"]?.({ gte: 7 })),
      reverse: await window.failure(async () => loose["keys"]?.({ reverse: "yes" })),
      best: await window.failure(() => db.setPolicy("best" as "tiered")),
      copy: await window.failure(() => db.checkpoint("a/b")),
      // @ts-expect-error One lower bound.
      bounds: await window.failure(async () => db.entries({ gt: "a", gte: "a" })),
      limit: await window.failure(async () => db.entries({ limit: -1 })),
      notText: await window.failure(async () => {
        await db.put("bytes", new Uint8Array([0xff]));
        await db.get("bytes");
      }),
    };
    const longest = "k".repeat(MAX_KEY_BYTES);
    await db.put(longest, "fits");
    return { failures, half: await db.get("half"), longest: await db.get(longest) };
  });
  for (const [what, failure] of Object.entries(result.failures)) {
    expect(failure, what).toMatchObject({
      name: "InvalidArgumentError",
      code: "invalid-argument",
      message: expect.stringMatching(/expected .*, found /),
    });
  }
  expect(result.half).toBeUndefined();
  expect(result.longest).toBe("fits");
});

test("a store is closed at the end of its block", async ({ storePage }) => {
  const page = await storePage();
  // As text: the tests' compiler would translate `await using` for older browsers.
  const twice = await page.evaluate(`(async () => {
    for (let i = 0; i < 2; i++) {
      await using db = await window.terrane.open("block", { timeout: 0 });
      await db.put("k", String(i));
    }
    await using db = await window.terrane.open("block", { timeout: 0 });
    return db.get("k");
  })()`);
  expect(twice).toBe("1");
});

test("a closed store rejects calls and can be reopened", async ({ storePage }) => {
  const page = await storePage();
  const result = await page.evaluate(async () => {
    const db = await window.terrane.open("closed");
    const last = db.put("k", "v");
    await db.close();
    await db.close();
    await last;
    const users = db.keyspace("users");
    const rejected = [
      await window.failure(() => db.get("k")),
      await window.failure(() => db.put("k", "w")),
      await window.failure(() => db.entries().next()),
      await window.failure(() => db.snapshot().get("k")),
      await window.failure(() => users.count()),
      await window.failure(() => db.export()),
      await window.failure(() => db.sync()),
    ];
    const { done } = await db.events().next();
    const again = await window.terrane.open("closed");
    return { rejected, done, value: await again.get("k") };
  });
  for (const [n, failure] of result.rejected.entries()) {
    expect(failure, `failure ${n}`).toMatchObject({ name: "ClosedError", code: "closed" });
  }
  expect(result.done).toBe(true);
  expect(result.value).toBe("v");
});
