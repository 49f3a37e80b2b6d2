/** Tabs that share a store: followers, changes of leader, and who keeps whom out. */

import { expect, type Page, test } from "./fixtures.ts";

/** Opens the store in a tab. */
async function opened(page: Page, name: string): Promise<Page> {
  await page.evaluate(async (name) => {
    window.db = await window.terrane.open(name);
  }, name);
  return page;
}

/** Waits until a tab has that role. */
async function become(page: Page, role: "leader" | "follower"): Promise<void> {
  await page.waitForFunction((role) => window.db.role === role, role);
}

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
      db.batch([{ type: "put", key: "a", value: "5" }], { if: [{ key: "a", value: "1" }] as never }),
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
    await events.return();
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

test("when the leader's tab is closed a follower leads", async ({ storePage }) => {
  const leader = await opened(await storePage(), "closed");
  const follower = await opened(await storePage(), "closed");
  await follower.evaluate(() => window.db.put("a", "1"));
  await leader.close();
  expect(await follower.evaluate(() => window.db.get("a"))).toBe("1");
  await become(follower, "leader");
  await follower.evaluate(() => window.db.put("b", "2"));
  expect(await follower.evaluate(() => window.db.getMany(["a", "b"]))).toEqual(["1", "2"]);
});

test("when the leader closes its store a follower leads", async ({ storePage }) => {
  const leader = await opened(await storePage(), "given");
  const follower = await opened(await storePage(), "given");
  await follower.evaluate(() => window.db.keyspace("users").put("a", "1"));
  await leader.evaluate(() => window.db.close());
  await become(follower, "leader");
  expect(await follower.evaluate(() => window.db.keyspace("users").get("a"))).toBe("1");
  await opened(leader, "given");
  await become(leader, "follower");
  expect(await leader.evaluate(() => window.db.keyspace("users").get("a"))).toBe("1");
});
