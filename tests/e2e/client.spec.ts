/** The package in a page: keyspaces, snapshots, policies, signals, events, and memory. */

import type { Event } from "../../bindings-js/dist/client/index.js";
import { expect, test } from "./fixtures.ts";

test("a batch over keyspaces survives a reload, as do their policies", async ({ storePage }) => {
  const page = await storePage();
  await page.evaluate(async () => {
    const db = await window.terrane.open("spaces", { policy: "tiered" });
    const users = db.keyspace("users", { policy: { policy: "universal", runTrigger: 6 } });
    await db.batch([
      { type: "put", key: "k", value: "default" },
      { type: "put", key: "k", value: "user", keyspace: users },
      { type: "put", key: "gone", value: "x", keyspace: users },
    ]);
    await users.delete("gone", { durability: "sync" });
  });
  await page.reload();
  const found = await page.evaluate(async () => {
    const db = await window.terrane.open("spaces", { create: false });
    const users = db.keyspace("users", { create: false, valueEncoding: "binary" });
    const [policy, own] = [await users.policy(), await db.policy()];
    await users.setPolicy("leveled");
    const keys: string[] = [];
    for await (const key of users.keys()) keys.push(key);
    const missing = db.keyspace("none", { create: false });
    const failures = {
      read: await window.failure(() => missing.get("k")),
      write: await window.failure(() => missing.put("k", "v")),
      policy: await window.failure(() =>
        db.keyspace("bad", { policy: "best" as "tiered" }).count(),
      ),
      walk: await window.failure(async () => {
        for await (const key of missing.keys()) throw new Error(key);
      }),
    };
    const result = {
      values: [await db.get("k"), [...((await users.get("k")) ?? [])]],
      keys,
      policies: [own.policy, policy, (await users.policy()).policy],
      names: (await db.keyspaces()).sort(),
      failures,
      dropped: [await db.dropKeyspace("users"), await db.dropKeyspace("users")],
    };
    const closed = await window.failure(() => users.get("k"));
    const again = db.keyspace("users");
    return { ...result, closed, again: await again.get("k") };
  });
  expect(found.values).toEqual(["default", [...Buffer.from("user")]]);
  expect(found.keys).toEqual(["k"]);
  expect(found.policies).toEqual([
    "tiered",
    expect.objectContaining({ policy: "universal", runTrigger: 6 }),
    "leveled",
  ]);
  expect(found.names).toEqual(["default", "users"]);
  expect(found.failures.read).toMatchObject({ name: "NotFoundError", code: "not-found" });
  expect(found.failures.write?.code).toBe("not-found");
  expect(found.failures.walk?.code).toBe("not-found");
  expect(found.failures.policy?.code).toBe("invalid-argument");
  expect(found.dropped).toEqual([true, false]);
  expect(found.closed?.code).toBe("closed");
  expect(found.again).toBeUndefined();
});

test("a snapshot shows all keyspaces despite later writes", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const db = await window.terrane.open("pictures");
    const users = db.keyspace("users");
    void db.put("a", "old");
    void users.put("u", "old");
    const snapshot = db.snapshot();
    void db.put("a", "new");
    void db.put("b", "new");
    void users.delete("u");
    await db.flush();
    await db.compactRange();
    const shown: string[][] = [];
    for await (const entry of snapshot.entries()) shown.push(entry);
    const then = [await snapshot.get("a"), await snapshot.keyspace(users).get("u")];
    const now = [await db.get("a"), await users.get("u")];
    snapshot.release();
    const released = await window.failure(() => snapshot.get("a"));
    return { shown, then, now, released };
  });
  expect(found.shown).toEqual([["a", "old"]]);
  expect(found.then).toEqual(["old", "old"]);
  expect(found.now).toEqual(["new", undefined]);
  expect(found.released?.code).toBe("closed");
});

test("a forgotten snapshot is reported and released", async ({ protocol, storePage }) => {
  const page = await storePage();
  const warning = page.waitForEvent("console", (message) => message.type() === "warning");
  await page.evaluate(async () => {
    const db = await window.terrane.open("forgotten");
    const events = db.events();
    Object.assign(window, { found: events.next().then(({ value }) => value?.type), db });
    await db.snapshot().get("k");
  });
  const browser = await protocol(page);
  await browser.send("HeapProfiler.enable");
  await browser.send("HeapProfiler.collectGarbage");
  expect((await warning).text()).toContain('a snapshot of store "forgotten" was never released');
  expect(await page.evaluate("found")).toBe("snapshot-forgotten");
});

test("suspension keeps keyspaces and listeners, not snapshots", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const db = await window.terrane.open("aside");
    const users = db.keyspace("users");
    await users.put("a", "1");
    const snapshot = db.snapshot();
    const events = db.events();
    const sealed = async () => {
      for await (const event of events) if (event.type === "memtable-sealed") return event;
      return undefined;
    };
    const first = sealed();
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    const waiting = users.put("b", "2");
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    await waiting;
    await db.flush();
    const event = await first;
    const lost = await window.failure(() => snapshot.get("a"));
    return { lost, event, values: await users.getMany(["a", "b"]) };
  });
  expect(found.values).toEqual(["1", "2"]);
  expect(found.event).toMatchObject({ type: "memtable-sealed", keyspace: "users" });
  expect(found.lost?.code).toBe("closed");
});

test("events report the engine's work, and levels show it", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const policy = { policy: "leveled", levelBaseBytes: 65536, targetFileBytes: 65536 } as const;
    const db = await window.terrane.open("events", {
      memtableBytes: 65536,
      policy,
      policies: "all",
    });
    const listening = new AbortController();
    const seen: Event[] = [];
    const ended = window.failure(async () => {
      for await (const event of db.events({ signal: listening.signal })) seen.push(event);
    });
    for (let n = 0; n < 40; n++) {
      const put = (_: unknown, i: number) => {
        const key = `${(i * 40 + n) * 7919}`.padStart(9, "0");
        return { type: "put" as const, key, value: crypto.randomUUID().repeat(4) };
      };
      await db.batch(Array.from({ length: 200 }, put));
    }
    await db.flush();
    await db.compactRange();
    const levels = await db.levels();
    listening.abort();
    const size = await db.approximateSize();
    const [first] = (await db.levels()).flatMap((level) => level.runs[0]?.tables ?? []);
    const trace = await db.trace(first?.smallest ?? "none");
    const { keyspaces } = await db.stats();
    return { seen, levels, trace, ended: await ended, size, stats: keyspaces[0]?.levels };
  });
  const types = new Set(found.seen.map((event) => event.type));
  for (const type of [
    "memtable-sealed",
    "flushed",
    "compaction-begun",
    "group-begun",
    "group-installed",
  ]) {
    expect(types).toContain(type);
  }
  const begun = found.seen.filter((event) => event.type === "compaction-begun");
  for (const event of begun) {
    expect(event).toMatchObject({ keyspace: "default", reason: expect.stringMatching(/\w \w/) });
  }
  // Every group is announced with what its installation replaces, at a time that runs on.
  const announced = found.seen.filter((event) => event.type === "group-begun");
  for (const event of found.seen.filter((event) => event.type === "group-installed")) {
    const group = announced.find(
      (begun) => begun.compaction === event.compaction && begun.inputs[0] === event.inputs[0],
    );
    expect(group).toMatchObject({ inputs: event.inputs, level: event.level, run: event.run });
  }
  const times = found.seen.flatMap((event) => ("micros" in event ? [event.micros] : []));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.at(-1)).toBeGreaterThan(0);
  const status = found.seen.findLast((event) => event.type === "policy-status");
  expect(status?.capacities.slice(0, found.stats?.length)).toEqual(
    found.stats?.map((level) => level.capacity),
  );
  const tables = found.levels.flatMap((level) => level.runs.flatMap((run) => run.tables));
  expect(tables.reduce((sum, table) => sum + table.entries, 0)).toBe(8000);
  expect(found.size).toBe(tables.reduce((sum, table) => sum + table.bytes, 0));
  expect(found.stats?.map((level) => level.tables)).toEqual(
    found.levels.map((level) => level.runs.reduce((sum, run) => sum + run.tables.length, 0)),
  );
  expect(found.trace.steps[0]).toEqual({ step: "memtable", place: 0 });
  expect(found.trace.steps.at(-1)).toMatchObject({ step: "value", bytes: 36 * 4 });
  expect(found.trace.counts.blocks).toBeGreaterThan(0);
  expect(found.ended).toMatchObject({ name: "AbortError", code: "aborted" });
});

test("a signal aborts a call, and the store continues", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { open } = window.terrane;
    const gone = AbortSignal.abort("why");
    const opening = new AbortController();
    const slow = window.failure(() =>
      open("signals", {
        signal: opening.signal,
        worker: () => {
          setTimeout(() => opening.abort(), 50);
          // A worker that never replies.
          return new Worker(URL.createObjectURL(new Blob([""])));
        },
      }),
    );
    const failures = [await slow, await window.failure(() => open("signals", { signal: gone }))];
    const db = await open("signals");
    await db.batch(
      Array.from({ length: 20_000 }, (_, i) => ({ type: "put", key: `${i}`, value: "x" })),
    );
    failures.push(await window.failure(() => db.put("not", "sent", { signal: gone })));
    failures.push(await window.failure(() => db.getMany(["1"], { signal: gone })));
    failures.push(await window.failure(() => db.compactRange({ signal: gone })));
    const walking = new AbortController();
    let walked = 0;
    failures.push(
      await window.failure(async () => {
        for await (const _ of db.entries({ signal: walking.signal })) {
          if (++walked === 100) walking.abort();
        }
      }),
    );
    const checking = new AbortController();
    const check = window.failure(() => db.check({ signal: checking.signal }));
    checking.abort();
    failures.push(await check);
    let cause: unknown;
    await db.get("1", { signal: gone }).catch((error) => ({ cause } = error));
    return { failures, cause, walked, kept: await db.get("1"), not: await db.get("not") };
  });
  for (const [n, failure] of found.failures.entries()) {
    expect(failure, `failure ${n}`).toMatchObject({ name: "AbortError", code: "aborted" });
  }
  expect(found.cause).toBe("why");
  expect(found.walked).toBeLessThan(20_000);
  expect([found.kept, found.not]).toEqual(["x", undefined]);
});

test("a forgotten iteration releases its tables", async ({ protocol, storePage }) => {
  const page = await storePage();
  await page.evaluate(async () => {
    const db = await window.terrane.open("dropped");
    window.db = db;
    const write = async (value: string) => {
      const put = (_: unknown, i: number) => ({ type: "put" as const, key: `${i}`, value });
      await db.batch(Array.from({ length: 20_000 }, put));
      await db.compactRange();
    };
    await write("x".repeat(50));
    const tables = (await db.levels()).flatMap((level) => level.runs.flatMap((run) => run.tables));
    const files = new Set(tables.map((table) => `${table.id}.sst`.padStart(12, "0")));
    const removed = (async () => {
      for await (const event of db.events()) {
        if (event.type === "file-removed") files.delete(event.file);
        if (files.size === 0) return;
      }
    })();
    await db.entries().next();
    await write("y".repeat(50));
    Object.assign(window, { removed });
  });
  const browser = await protocol(page);
  await browser.send("HeapProfiler.enable");
  await browser.send("HeapProfiler.collectGarbage");
  await page.evaluate("removed");
});

test("an iteration keeps its tables until it ends", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const db = await window.terrane.open("left");
    const write = async (value: string) => {
      const put = (_: unknown, i: number) => ({ type: "put" as const, key: `${i}`, value });
      await db.batch(Array.from({ length: 20_000 }, put));
      await db.compactRange();
      // Each call leaves the engine a turn for jobs.
      for (let turn = 0; turn < 20; turn++) await db.stats();
    };
    await write("x".repeat(50));
    const walk = db.entries();
    await walk.next();
    const tables = (await db.levels()).flatMap((level) => level.runs.flatMap((run) => run.tables));
    const files = new Set(tables.map((table) => `${table.id}.sst`.padStart(12, "0")));
    const all = files.size;
    const listening = (async () => {
      for await (const event of db.events()) {
        if (event.type === "file-removed") files.delete(event.file);
        if (files.size === 0) return;
      }
    })();
    await write("y".repeat(50));
    const held = files.size;
    await walk.return();
    await listening;
    return { all, held };
  });
  expect(found.all).toBeGreaterThan(0);
  expect(found.held).toBe(found.all);
});

test("a store in memory stores nothing on the origin", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { open } = window.terrane;
    const db = await open("memory", { storage: "memory" });
    const other = await open("memory", { storage: "memory", timeout: 0 });
    await db.put("k", "v", { durability: "sync" });
    await db.flush();
    const values = [await db.get("k"), await other.get("k")];
    const root = await navigator.storage.getDirectory();
    const names: string[] = [];
    for await (const name of root.keys()) names.push(name);
    await db.close();
    const { usage, quota } = await other.estimate();
    return { values, names, quota: quota > usage, persist: typeof (await other.persist()) };
  });
  expect(found).toEqual({
    values: ["v", undefined],
    names: [],
    quota: true,
    persist: "boolean",
  });
});

test("a suspended page keeps its store in memory", async ({ storePage }) => {
  const page = await storePage();
  const value = await page.evaluate(async () => {
    const db = await window.terrane.open("memory", { storage: "memory" });
    await db.put("k", "v");
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    return db.get("k");
  });
  expect(value).toBe("v");
});

test("errorIfExists rejects an existing store", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { open } = window.terrane;
    const db = await open("new", { errorIfExists: true });
    await db.put("k", "v");
    await db.close();
    const rejected = await window.failure(() => open("new", { errorIfExists: true }));
    const again = await open("new");
    return { rejected, value: await again.get("k") };
  });
  expect(found.rejected?.code).toBe("invalid-argument");
  expect(found.value).toBe("v");
});
