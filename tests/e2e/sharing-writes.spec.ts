/** Writes of followers that got no answer take effect once, whatever becomes of the leader. */

import { expect, type Page, test } from "./fixtures.ts";
import { opened, openMuted, type Worked } from "./tabs.ts";

declare const worked: Worked;

/** Writes in a follower, ends the worker that has not replied, and returns what was written in the end. */
async function writeUnanswered(leader: Page, follower: Page) {
  await follower.evaluate(() => window.db.put("n", "0"));
  await leader.evaluate(() => worked.mute());
  await follower.evaluate(() => {
    const { db } = window;
    const merges = Array.from({ length: 20 }, () => db.merge("n", { add: 1 }));
    const swap = db.batch([{ type: "put", key: "s", value: "1" }], {
      if: [{ key: "s", exists: false }],
    });
    const after = db.merge("n", { add: 100 }, { durability: "sync" });
    const writes = Promise.allSettled([...merges, swap, after]);
    Object.assign(window, { writes });
  });
  await expect.poll(() => leader.evaluate(() => window.db.get("s"))).toBe("1");
  await leader.evaluate(() => worked.terminate());
  return follower.evaluate(async () => {
    const { writes } = window as unknown as { writes: Promise<PromiseSettledResult<number>[]> };
    const failed = (await writes).flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    return { failed: failed.map(({ code }) => code as string), n: await window.db.get("n") };
  });
}

test("writes without an answer take effect once", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await openMuted(leader, "once", false);
  await opened(follower, "once");
  expect(await writeUnanswered(leader, follower)).toEqual({ failed: [], n: "120" });
});

test("without the record of writes they take effect twice", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await openMuted(leader, "twice", true);
  await opened(follower, "twice");
  expect(await writeUnanswered(leader, follower)).toEqual({ failed: ["conflict"], n: "140" });
});

/**
 * Makes calls of a follower that get no answer, then runs `after` in the tab that leads, ends its worker, and returns
 * the answers.
 */
async function unanswered<T>(
  [leader, follower]: readonly [Page, Page],
  calls: () => Promise<T>,
  took: () => Promise<boolean>,
  after: () => Promise<unknown>,
): Promise<T> {
  await leader.evaluate(() => worked.mute());
  await follower.evaluate(`Object.assign(window, { answers: (${String(calls)})() })`);
  await expect.poll(() => leader.evaluate(took)).toBe(true);
  await leader.evaluate(after);
  await leader.evaluate(() => worked.terminate());
  return follower.evaluate("answers") as Promise<T>;
}

test("a clear without an answer deletes nothing later", async ({ storePage }) => {
  const pages = [await storePage(), await storePage()] as const;
  await openMuted(pages[0], "cleared", false);
  await opened(pages[1], "cleared");
  await pages[1].evaluate(async () => {
    for (const key of ["a", "b", "c"]) await window.db.put(key, "1");
  });
  const cleared = await unanswered(
    pages,
    () => window.db.clear({ gte: "b" }),
    async () => (await window.db.get("c")) === undefined,
    () => window.db.put("d", "2", { durability: "sync" }),
  );
  expect(cleared).toBe(2);
  expect(await pages[1].evaluate(() => window.db.getMany(["a", "b", "d"]))).toEqual([
    "1",
    undefined,
    "2",
  ]);
});

test("a drop without an answer drops no later keyspace", async ({ storePage }) => {
  const pages = [await storePage(), await storePage()] as const;
  await openMuted(pages[0], "dropped", false);
  await opened(pages[1], "dropped");
  await pages[1].evaluate(() => window.db.keyspace("users").put("a", "1"));
  const dropped = await unanswered(
    pages,
    () => window.db.dropKeyspace("users"),
    async () => !(await window.db.keyspaces()).includes("users"),
    () => window.db.keyspace("users").put("b", "2", { durability: "sync" }),
  );
  expect(dropped).toBe(true);
  expect(await pages[1].evaluate(() => window.db.keyspace("users").get("b"))).toBe("2");
});

test("a policy without an answer replaces no later one", async ({ storePage }) => {
  const pages = [await storePage(), await storePage()] as const;
  await openMuted(pages[0], "policies", false);
  await opened(pages[1], "policies");
  await unanswered(
    pages,
    () => window.db.setPolicy("tiered"),
    async () => (await window.db.policy()).policy === "tiered",
    () => window.db.setPolicy("universal"),
  );
  const { policy } = await pages[1].evaluate(() => window.db.policy());
  expect(policy).toBe("universal");
});

test("a clear goes on where the last leader stopped", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await leader.evaluate(async () => {
    const held = await window.openHeld("begun", {});
    window.db = held.db;
    const put = (_: unknown, i: number) =>
      ({ type: "put", key: `${10_000 + i}`, value: "v" }) as const;
    await held.db.batch(Array.from({ length: 4000 }, put));
    Object.assign(window, held);
  });
  await opened(follower, "begun");
  await leader.evaluate("hold()");
  await follower.evaluate(() => {
    const cleared = window.db.clear({ limit: 3500 });
    Object.assign(window, { cleared });
  });
  // The first step has deleted some keys.
  await expect.poll(() => leader.evaluate(() => window.db.has("10000"))).toBe(false);
  expect(await leader.evaluate(() => window.db.has("13499"))).toBe(true);
  await leader.close();
  const cleared = await follower.evaluate("cleared");
  expect(cleared).toBe(3500);
  expect(await follower.evaluate(() => window.db.keys().next())).toMatchObject({ value: "13500" });
});
