/** Tabs that share a store: followers, and who keeps whom out. */

import { expect, full, test } from "./fixtures.ts";
import { opened } from "./tabs.ts";

test("a follower makes every call, and loads no worker", async ({ storePage }) => {
  const leader = await opened(await storePage(), "all");
  const follower = await storePage();
  const loaded: string[] = [];
  follower.on("request", (request) => loaded.push(request.url()));
  await opened(follower, "all");
  expect(await leader.evaluate(() => window.db.role)).toBe("leader");
  expect(loaded.filter((url) => /worker|wasm/.test(url))).toEqual([]);
  const found = await follower.evaluate(async () => {
    const { db } = window;
    const types: string[] = [];
    const events = db.events();
    void (async () => {
      for await (const { type } of events) types.push(type);
    })();
    await db.put("a", "1");
    await db.batch([
      { type: "put", key: "b", value: "2" },
      { type: "put", key: "c", value: "3" },
    ]);
    const snapshot = db.snapshot();
    await db.put("a", "4", { durability: "sync" });
    const users = db.keyspace("users");
    await users.put("ada", "lovelace");
    const refused = await window.failure(() =>
      db.batch([{ type: "put", key: "a", value: "5" }], {
        if: [{ key: "a", value: "1" }] as never,
      }),
    );
    const transacted = await db.transact(async (transaction) => {
      const before = await transaction.get("b");
      transaction.put("b", `${before}!`);
      return before;
    });
    const entries: unknown[] = [];
    for await (const entry of db.entries()) entries.push(entry);
    await db.flush();
    const exported = await new Response(await db.export()).blob();
    await window.terrane.importStore("all again", exported);
    await db.checkpoint("all copied");
    const copy = await window.terrane.open("all copied");
    const again = await window.terrane.open("all again");
    const { damage } = await db.check();
    const result = {
      role: db.role,
      old: await snapshot.get("a"),
      entries,
      user: await users.get("ada"),
      refused: refused?.code,
      transacted,
      keyspaces: (await db.keyspaces()).sort(),
      copied: [await copy.get("b"), await copy.keyspace("users").get("ada")],
      again: await again.getMany(["a", "b", "c"]),
      count: await db.count(),
      clients: (await db.stats()).clients,
      damage,
    };
    snapshot.release();
    await Promise.all([copy.close(), again.close()]);
    // Events arrive a moment later.
    while (!types.includes("flushed")) await new Promise((passed) => setTimeout(passed, 10));
    // It ends with the store: its loop waits for the next event.
    return result;
  });
  expect(found).toEqual({
    role: "follower",
    old: "1",
    entries: [
      ["a", "4"],
      ["b", "2!"],
      ["c", "3"],
    ],
    user: "lovelace",
    refused: "conflict",
    transacted: "2",
    keyspaces: ["default", "users"],
    copied: ["2!", "lovelace"],
    again: ["4", "2!", "3"],
    count: 3,
    clients: 2,
    damage: [],
  });
  expect(await leader.evaluate(() => window.db.get("b"))).toBe("2!");
});

test("a service worker follows, and fails where nobody leads", async ({ storePage }) => {
  const page = await storePage();
  const ask = (call: string) =>
    page.evaluate(async (call) => {
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      return new Promise<unknown>((resolve) => {
        port1.onmessage = ({ data }) => resolve(data);
        active?.postMessage(call, [port2]);
      });
    }, call);
  await page.evaluate(() =>
    navigator.serviceWorker.register("/pages/service-worker.js", { type: "module" }),
  );
  expect(await ask("open")).toMatchObject({ code: "unavailable" });
  await opened(page, "served");
  expect(await ask("follow")).toBe("follower");
  await page.evaluate(() => window.db.put("k", "v"));
  expect(await ask("get")).toBe("v");
  expect(await ask("put")).toBe("number");
  await ask("transact");
  expect(await page.evaluate(() => window.db.get("tx"))).toBe("v");
  expect(await ask("stats")).toBe(2);
  expect(await page.evaluate(() => window.db.get("sw"))).toBe("v");
  await page.evaluate(async () => {
    for (const found of await navigator.serviceWorker.getRegistrations()) await found.unregister();
  });
});

test("two tabs that open a store at once share it", async ({ storePage }) => {
  const pages = [await storePage(), await storePage()];
  for (let round = 0; round < (full ? 100 : 10); round++) {
    const roles = await Promise.all(
      pages.map((page) =>
        page.evaluate(async (round) => {
          window.db = await window.terrane.open("race");
          await window.db.put(`${round}`, "v");
          return window.db.role;
        }, round),
      ),
    );
    expect(roles.toSorted()).toEqual(["follower", "leader"]);
    await Promise.all(pages.map((page) => page.evaluate(() => window.db.close())));
  }
  const locks = () =>
    pages[0]?.evaluate(async () => {
      const { held = [], pending = [] } = await navigator.locks.query();
      return [...held, ...pending].map(({ name }) => name);
    });
  await expect.poll(locks).toEqual([]);
});

test("noise on a client's channel is ignored", async ({ storePage }) => {
  const leader = await storePage();
  const follower = await storePage();
  await opened(leader, "noise");
  // The channel is named after the random ids of both.
  await follower.evaluate(() => {
    const Channel = BroadcastChannel;
    const names: string[] = [];
    const record = class extends Channel {
      constructor(name: string) {
        super(name);
        names.push(name);
      }
    };
    Object.assign(window, { BroadcastChannel: record, names });
  });
  await opened(follower, "noise");
  const value = await follower.evaluate(async () => {
    const { names } = window as unknown as { names: string[] };
    const channel = new BroadcastChannel(names.at(-1) ?? "");
    const noise = [undefined, 7, {}, [null], [7], [{}], [{ op: "put" }], [{ op: "none", id: 1e9 }]];
    for (const message of noise) channel.postMessage(message);
    channel.close();
    await window.db.put("k", "v");
    return window.db.get("k");
  });
  expect(value).toBe("v");
  expect(await leader.evaluate(() => window.db.get("k"))).toBe("v");
});

test("a client that joins again is served", async ({ storePage }) => {
  const [leader, other] = [await storePage(), await storePage()];
  await opened(leader, "rejoined");
  // The messages of a client that has waited too long for the leader, and finds it once more.
  const served = await other.evaluate(async () => {
    const client = crypto.randomUUID();
    void navigator.locks.request(`terrane-client:${client}:rejoined`, () => new Promise(() => {}));
    const store = new BroadcastChannel("terrane:rejoined");
    const asked = { protocol: 1, seeks: client };
    const leader = await new Promise<string>((found) => {
      store.onmessage = ({ data }) => "leads" in data && found(data.leads.id);
      store.postMessage(asked);
    });
    const channel = () => new BroadcastChannel(`terrane:${leader}:${client}`);
    const next = (line: BroadcastChannel) =>
      new Promise<unknown>((arrived) => (line.onmessage = ({ data }) => arrived(data)));
    const served: unknown[] = [];
    for (let time = 0; time < 2; time++) {
      const line = channel();
      const first = next(line);
      store.postMessage({ protocol: 1, joins: client, leader, visible: true, mayLead: false });
      served.push(await first);
      line.postMessage([{ op: "call", id: 1, method: "keyspaces", args: [] }]);
      served.push(await next(line));
      line.close();
    }
    return served;
  });
  const replied = [{ id: 1, value: '[[0,"default"]]' }];
  expect(served).toEqual([[], replied, [], replied]);
});

test("another tab's open store is neither destroyed nor imported", async ({ storePage }) => {
  const [leader, follower, other] = [await storePage(), await storePage(), await storePage()];
  await opened(leader, "kept");
  await opened(follower, "kept");
  for (const page of [leader, follower, other]) {
    const failures = await page.evaluate(async () => {
      const { destroy, importStore, open } = window.terrane;
      const calls = [
        () => destroy("kept", { timeout: 100 }),
        () => importStore("kept", new Blob(["x"]), { timeout: 100 }),
        () => open("kept", { exclusive: true, timeout: 100 }),
      ];
      const failures: Awaited<ReturnType<typeof window.failure>>[] = [];
      for (const call of calls) failures.push(await window.failure(call));
      return failures;
    });
    expect(failures.slice(0, 2).map((failure) => failure?.code)).toEqual(["busy", "busy"]);
    // A page that has the store open itself shares its connection.
    if (page !== other) continue;
    expect(failures[2]?.code).toBe("busy");
    for (const failure of failures) expect(failure?.message).toContain(leader.url());
  }
  await leader.evaluate(() => window.db.put("k", "v"));
  expect(await follower.evaluate(() => window.db.get("k"))).toBe("v");
});

test("a store is not destroyed between two leaders", async ({ storePage }) => {
  const [leader, follower, other] = [await storePage(), await storePage(), await storePage()];
  await opened(leader, "between");
  await opened(follower, "between");
  await other.evaluate(async () => {
    const destroyed = window.failure(() => window.terrane.destroy("between", { timeout: 3000 }));
    Object.assign(window, { destroyed });
    const isWaiting = async () => {
      const { pending = [] } = await navigator.locks.query();
      return pending.some(({ name }) => name === "terrane:between");
    };
    while (!(await isWaiting())) await new Promise((passed) => setTimeout(passed, 10));
  });
  await leader.evaluate(() => window.db.close());
  await follower.evaluate(() => window.db.put("k", "v"));
  expect(await other.evaluate("destroyed")).toMatchObject({ code: "busy" });
  expect(await follower.evaluate(() => window.db.get("k"))).toBe("v");
  await follower.evaluate(() => window.db.close());
  await other.evaluate(() => window.terrane.destroy("between"));
  expect(await other.evaluate(() => window.terrane.exists("between"))).toBe(false);
});

test("an opening that fails leaves no store", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { exists, open } = window.terrane;
    const given = { policy: "tiered", sizeRatio: 1 } as const;
    const refused = await window.failure(() => open("none", { policy: given }));
    const missing = await window.failure(() => open("none", { wasm: "/none.wasm" }));
    return [refused?.code, missing !== undefined, await exists("none")];
  });
  expect(found).toEqual(["invalid-argument", true, false]);
});
