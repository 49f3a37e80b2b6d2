/** The change feed on files of a page: followers, changes of leader, reloads, and cursors that are gone. */

import { expect, type Page, test } from "./fixtures.ts";

/** Opens the store in a tab, and counts there the batches of the feed from now on. */
function subscribed(page: Page, name: string): Promise<void> {
  return page.evaluate(async (name) => {
    const db = await window.terrane.open(name, { feedBytes: 16 << 20 });
    const seen: string[] = [];
    Object.assign(window, { db, seen });
    const changes = db.changes();
    void (async () => {
      for await (const { sequence, operations } of changes) {
        for (const operation of operations) {
          if (operation.type === "put") seen.push(`${sequence} ${operation.key}`);
        }
      }
    })();
    // The feed starts here.
    await db.sync();
  }, name);
}

/** Writes rows in a tab; returns them as the feed has them. */
function written(page: Page, from: number, to: number): Promise<string[]> {
  return page.evaluate(
    async ([from, to]) => {
      const puts: string[] = [];
      for (let n = from; n < to; n++) puts.push(`${await window.db.put(`n${n}`, "v")} n${n}`);
      return puts;
    },
    [from, to] as const,
  );
}

/** Returns the rows that a tab has seen of the feed, once there are `rows` of them. */
async function seen(page: Page, rows: number): Promise<string[]> {
  await page.waitForFunction(
    (rows) => (window as unknown as { seen: string[] }).seen.length >= rows,
    rows,
  );
  return page.evaluate(() => (window as unknown as { seen: string[] }).seen);
}

test("a follower has every batch once, whoever leads", async ({ storePage }) => {
  const leader = await storePage();
  await subscribed(leader, "fed");
  const follower = await storePage();
  await subscribed(follower, "fed");
  const other = await storePage();
  await subscribed(other, "fed");
  expect(await follower.evaluate(() => window.db.role)).toBe("follower");
  const rows = [...(await written(leader, 0, 30)), ...(await written(follower, 30, 60))];
  for (const page of [leader, follower, other]) expect(await seen(page, 60)).toEqual(rows);
  // Its last writes are not awaited.
  await leader.evaluate(() => {
    for (let n = 60; n < 70; n++) void window.db.put(`n${n}`, "v", { durability: "buffered" });
  });
  await leader.close();
  await written(follower, 70, 100);
  const last = (rows: string[]) => rows.at(-1)?.endsWith(" n99");
  for (const page of [follower, other]) {
    await expect.poll(async () => last(await seen(page, 60))).toBe(true);
  }
  const all = await seen(follower, 60);
  expect(await seen(other, all.length)).toEqual(all);
  expect(all.slice(0, 60)).toEqual(rows);
  const keys = all.map((row) => row.split(" ")[1]);
  expect(new Set(keys).size).toBe(keys.length);
  // Of the writes that nobody awaited, some may be lost with their page.
  expect(keys.slice(-30)).toEqual(Array.from({ length: 30 }, (_, n) => `n${n + 70}`));
  const stored = await other.evaluate(async () => {
    const keys: string[] = [];
    for await (const key of window.db.keys()) keys.push(key);
    return keys;
  });
  expect([...keys].sort()).toEqual(stored);
});

test("a cursor continues the feed after a reload", async ({ storePage }) => {
  const page = await storePage();
  const read = (write: boolean) =>
    page.evaluate(async (write) => {
      const db = await window.terrane.open("resumed", { feedBytes: 16 << 20 });
      const since = localStorage.getItem("cursor") ?? (await db.feedCursor());
      if (write) for (let n = 0; n < 20; n++) await db.put(`${n}`, "v");
      const keys: string[] = [];
      for await (const { cursor, operations } of db.changes({ since })) {
        for (const operation of operations) if (operation.type === "put") keys.push(operation.key);
        localStorage.setItem("cursor", cursor);
        if (keys.length === 10) break;
      }
      await db.flush();
      return keys;
    }, write);
  const first = await read(true);
  await page.reload();
  const second = await read(false);
  expect([...first, ...second]).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`));
});

test("a hidden page follows the feed", async ({ storePage }) => {
  const page = await storePage();
  const key = await page.evaluate(async () => {
    const db = await window.terrane.open("hidden", { storage: "memory" });
    const changes = db.changes();
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    const next = changes.next();
    await db.put("a", "v");
    const [operation] = (await next).value?.operations ?? [];
    return operation?.type === "put" ? operation.key : undefined;
  });
  expect(key).toBe("a");
});

test("a cursor that is too old or of another store is refused", async ({ storePage }) => {
  const leader = await storePage();
  const follower = await storePage();
  for (const page of [leader, follower]) {
    await page.evaluate(async () => {
      window.db = await window.terrane.open("short", { memtableBytes: 64 << 10 });
    });
  }
  const refusals = await follower.evaluate(async () => {
    const { db, terrane } = window;
    const refusal = async (store: typeof db, since: string) => {
      const expected = await store.feedCursor();
      try {
        await store.changes({ since }).next();
        return "none";
      } catch (error) {
        const { code, cursor } = error as InstanceType<typeof terrane.CursorGoneError>;
        // A leader forgets the clients of the store before, which is a write.
        const isOwn = cursor.replace(/\d+$/, "") === expected.replace(/\d+$/, "");
        return [code, isOwn, error instanceof terrane.CursorGoneError];
      }
    };
    const start = await db.feedCursor();
    for (let n = 0; n < 200; n++) await db.put(`${n}`, "v".repeat(10_000));
    await db.flush();
    const old = await refusal(db, start);
    const now = await db.feedCursor();
    await terrane.importStore("copied", await db.export());
    const copy = await terrane.open("copied");
    return [old, await refusal(copy, now), await refusal(db, now.replace(/\d+$/, "9999"))];
  });
  expect(refusals).toEqual(Array.from({ length: 3 }, () => ["cursor-gone", true, true]));
});
