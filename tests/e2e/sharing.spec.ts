/** Tabs that share a store: followers, changes of leader, and who keeps whom out. */

import { expect, type Page, test } from "./fixtures.ts";

/** Calls of a worker that `openWith` started. */
interface Worked {
  /** From now on, others get no reply. */
  mute(): Promise<void>;
  terminate(): void;
}

/**
 * Opens a store in a tab that leads, with a worker that can be muted and terminated; `forgets` has it record no write.
 */
function openMuted(page: Page, name: string, forgets: boolean): Promise<void> {
  return page.evaluate(
    async ({ name, forgets }) => {
      const script = `
        import "${location.origin}/terrane/dist/worker.js";
        let muted = false;
        globalThis.BroadcastChannel = class extends BroadcastChannel {
          set onmessage(serve) {
            super.onmessage = ({ data }) => {
              if (${forgets} && Array.isArray(data)) for (const request of data) delete request.once;
              serve({ data });
            };
          }
          postMessage(message) {
            if (!muted) super.postMessage(message);
          }
        };
        const gate = new globalThis.BroadcastChannel("gate");
        gate.onmessage = () => {
          gate.postMessage("muted");
          muted = true;
        };`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      let started: Worker | undefined;
      const worker = () => (started = new Worker(url, { type: "module" }));
      window.db = await window.terrane.open(name, { worker, policies: "all" });
      const gate = new BroadcastChannel("gate");
      const mute = () =>
        new Promise((done) => {
          gate.onmessage = done;
          gate.postMessage("mute");
        });
      const terminate = () => started?.terminate();
      Object.assign(window, { worked: { mute, terminate } });
    },
    { name, forgets },
  );
}

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
  expect(await ask("open")).toBe("follower");
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
  for (let round = 0; round < 10; round++) {
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
