/** Tabs that share a store: followers, changes of leader, and who keeps whom out. */

import { expect, full, type Page, test } from "./fixtures.ts";

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

test("a snapshot that ended says why, and so does an iteration", async ({ storePage }) => {
  const leader = await opened(await storePage(), "ended");
  const follower = await opened(await storePage(), "ended");
  const hold = (page: Page) =>
    page.evaluate(async () => {
      await window.db.put("k", "v");
      const snapshot = window.db.snapshot();
      const iteration = window.db.entries();
      await snapshot.get("k");
      Object.assign(window, { snapshot, iteration });
    });
  const ended = (page: Page) =>
    page.evaluate(async () => {
      type Held = {
        snapshot: ReturnType<typeof window.db.snapshot>;
        iteration: AsyncGenerator<unknown>;
      };
      const { snapshot, iteration } = window as unknown as Held;
      const failures = await Promise.all([
        window.failure(() => snapshot.get("k")),
        window.failure(() => iteration.next()),
      ]);
      return failures.map((failure) => `${failure?.code}: ${failure?.message}`);
    });
  await hold(follower);
  await leader.close();
  await become(follower, "leader");
  expect(await ended(follower)).toEqual([
    "closed: the snapshot ended: another page took over",
    "closed: the iteration ended: another page took over; start it again",
  ]);
  await hold(follower);
  await follower.evaluate(() => {
    for (const type of ["pagehide", "pageshow"]) {
      dispatchEvent(new PageTransitionEvent(type, { persisted: true }));
    }
  });
  expect(await ended(follower)).toEqual([
    "closed: the snapshot ended: the page was suspended",
    "closed: the iteration ended: the page was suspended; start it again",
  ]);
});

test("transactions and live queries go on under another leader", async ({ storePage }) => {
  const leader = await opened(await storePage(), "again");
  const follower = await opened(await storePage(), "again");
  await follower.evaluate(async () => {
    const { db } = window;
    await db.put("n", "1");
    let go = () => {};
    const gate = new Promise<void>((open) => (go = open));
    const runs = { transaction: 0, query: 0 };
    let left = 2;
    let haveRead = () => {};
    const bothRead = new Promise<void>((done) => (haveRead = () => void (--left === 0 && done())));
    const transacted = db.transact(async (transaction) => {
      runs.transaction++;
      const before = Number(await transaction.get("n"));
      haveRead();
      await gate;
      // The read is at a snapshot that has ended.
      await transaction.get("other");
      transaction.put("n", `${before + 1}`);
    });
    const results = db.live(async (reader) => {
      runs.query++;
      const before = await reader.get("n");
      haveRead();
      await gate;
      return [before, await reader.get("n")];
    });
    const first = results.next();
    await bothRead;
    Object.assign(window, { go, runs, transacted, first });
  });
  await leader.close();
  await become(follower, "leader");
  const found = await follower.evaluate(async () => {
    type Held = {
      go: () => void;
      runs: object;
      transacted: Promise<void>;
      first: Promise<unknown>;
    };
    const { go, runs, transacted, first } = window as unknown as Held;
    go();
    await transacted;
    const { value } = (await first) as { value: [string, string] };
    return { n: await window.db.get("n"), isSame: value[0] === value[1], runs };
  });
  expect(found).toEqual({ n: "2", isSame: true, runs: { transaction: 2, query: 2 } });
});

/** A tab with a call in flight. */
interface Failing {
  failed: ReturnType<Window["failure"]>;
}

/** Faults of a worker that leads, after the codes of their errors. */
const FAULTS = [
  ["quota", `throw new DOMException("full", "QuotaExceededError");`],
  ["io", `throw new DOMException("broken", "UnknownError");`],
  ["engine", `throw new WebAssembly.RuntimeError("unreachable");`],
] as const;

for (const [code, fault] of FAULTS) {
  test(`after a failure (${code}) the store is opened again`, async ({ storePage }) => {
    const leader = await storePage();
    await leader.evaluate(
      async ({ fault, isTrap }) => {
        // The first worker fails at each write to a file, or of the engine, once it gets a message.
        const script = `
          import "${location.origin}/terrane/dist/worker.js";
          let fails = false;
          new BroadcastChannel("fault").onmessage = () => (fails = true);
          const files = FileSystemSyncAccessHandle.prototype;
          const { write } = files;
          files.write = function (...args) {
            if (fails && !${isTrap}) { ${fault} }
            return write.apply(this, args);
          };
          const { Instance } = WebAssembly;
          WebAssembly.Instance = function (module, imports) {
            const { exports } = new Instance(module, imports);
            const store_write = (...args) => {
              if (fails && ${isTrap}) { ${fault} }
              return exports.store_write(...args);
            };
            return { exports: { ...exports, store_write } };
          };`;
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        const urls = [url, "/terrane/dist/worker.js"];
        const worker = () => new Worker(urls.shift() ?? "", { type: "module" });
        window.db = await window.terrane.open("failing", { worker, syncInterval: 100 });
      },
      { fault, isTrap: code === "engine" },
    );
    const tabs = [leader];
    for (let tab = 0; tab < 3; tab++) tabs.push(await opened(await storePage(), "failing"));
    for (const [at, tab] of tabs.entries()) {
      await tab.evaluate(async (at) => {
        const { db } = window;
        await db.put(`${at}`, "v", { durability: "sync" });
        // A call in flight.
        const failed = window.failure(() => db.watch({ prefix: "none" }).next());
        Object.assign(window, { failed });
        for (let call = 0; call < 3; call++) await db.get("other");
      }, at);
    }
    await leader.evaluate(() => new BroadcastChannel("fault").postMessage("fail"));
    const first = tabs[1]?.evaluate(async () => {
      for (;;) {
        const failure = await window.failure(() => window.db.put("other", "w"));
        if (failure !== undefined) return failure.code;
      }
    });
    expect(await first).toBe(code);
    const failed = tabs.map((tab) =>
      tab.evaluate(async () => (await (window as unknown as Failing).failed)?.code),
    );
    // A follower that finds the worker gone before it gets the failure sends its call again.
    const codes = await Promise.all(failed);
    expect(codes[0]).toBe(code);
    expect(codes.filter((found) => found !== code && found !== undefined)).toEqual([]);
    // No tab makes a call.
    const roles = () => Promise.all(tabs.map((tab) => tab.evaluate(() => window.db.role)));
    await expect.poll(roles).toContain("leader");
    for (const [at, tab] of tabs.entries()) {
      const put = () => tab.evaluate(() => window.failure(() => window.db.put("other", "x")));
      await expect.poll(put).toBeUndefined();
      expect(await tab.evaluate((at) => window.db.get(`${at}`), at)).toBe("v");
    }
  });
}

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

test("opens and closes of three tabs leave nothing behind", async ({ context, storePage }) => {
  const pages = [await storePage(), await storePage(), await storePage()];
  await Promise.all(
    pages.map((page, tab) =>
      page.evaluate(
        async ({ tab, rounds }) => {
          for (let round = 0; round < rounds; round++) {
            const db = await window.terrane.open("often", { timeout: 60_000 });
            await db.put(`${tab}`, `${round}`);
            await db.close();
          }
        },
        { tab, rounds: full ? 334 : 15 },
      ),
    ),
  );
  const [page] = pages as [Page, Page, Page];
  const left = () =>
    page.evaluate(async () => {
      const { held = [], pending = [] } = await navigator.locks.query();
      const stores = await (await navigator.storage.getDirectory()).getDirectoryHandle("terrane");
      const files: string[] = [];
      for await (const name of (await stores.getDirectoryHandle("often")).keys()) files.push(name);
      return { locks: [...held, ...pending].map(({ name }) => name), files: files.sort() };
    });
  await expect.poll(left).toEqual({ locks: [], files: ["data", "journal", "log"] });
  const workers = () => context.pages().flatMap((page) => page.workers());
  await expect.poll(() => workers().length).toBe(0);
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

test("a leader that does not answer is named, and no call hangs", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await openMuted(leader, "stopped", false);
  await follower.evaluate(async () => {
    window.db = await window.terrane.open("stopped", { timeout: 500 });
  });
  await leader.evaluate(() => worked.mute());
  const busy = await follower.evaluate(() => window.failure(() => window.db.put("k", "v")));
  expect(busy?.code).toBe("busy");
  expect(busy?.message).toContain(leader.url());
  expect(busy?.message).toContain("a write may still take effect");
  await leader.evaluate(() => worked.terminate());
  // It works again once another leads, and the write has not taken effect twice.
  await expect.poll(() => follower.evaluate(() => window.db.get("k"))).toBe("v");
});

test("another tab's open store is neither destroyed nor imported", async ({ storePage }) => {
  const [leader, follower, other] = [await storePage(), await storePage(), await storePage()];
  await opened(leader, "kept");
  await opened(follower, "kept");
  for (const page of [leader, follower, other]) {
    const codes = await page.evaluate(async () => {
      const { destroy, importStore, open } = window.terrane;
      const calls = [
        () => destroy("kept", { timeout: 100 }),
        () => importStore("kept", new Blob(["x"]), { timeout: 100 }),
        () => open("kept", { exclusive: true, timeout: 100 }),
      ];
      const codes: (string | undefined)[] = [];
      for (const call of calls) codes.push((await window.failure(call))?.code);
      return codes;
    });
    expect(codes.slice(0, 2)).toEqual(["busy", "busy"]);
    // A page that has the store open itself shares its connection.
    if (page === other) expect(codes[2]).toBe("busy");
  }
  await leader.evaluate(() => window.db.put("k", "v"));
  expect(await follower.evaluate(() => window.db.get("k"))).toBe("v");
});

test("a store is not destroyed between two leaders", async ({ storePage }) => {
  const [leader, follower, other] = [await storePage(), await storePage(), await storePage()];
  await opened(leader, "between");
  await opened(follower, "between");
  const destroyed = other.evaluate(() =>
    window.failure(() => window.terrane.destroy("between", { timeout: 3000 })),
  );
  const isWaiting = async () => {
    const { pending = [] } = await navigator.locks.query();
    return pending.some(({ name }) => name === "terrane:between");
  };
  await expect.poll(() => leader.evaluate(isWaiting)).toBe(true);
  await leader.evaluate(() => window.db.close());
  await follower.evaluate(() => window.db.put("k", "v"));
  expect((await destroyed)?.code).toBe("busy");
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
