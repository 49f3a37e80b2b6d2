/** The synchronous store of `terrane/worker`, in a worker of the page's own. */

import { CLEARING_RETRIES, expect, type Page, test } from "./fixtures.ts";

/** Runs the text of a function of the module in a new worker, and returns its result. */
async function inWorker<T>(
  page: Page,
  body: (terrane: typeof import("../../bindings-js/dist/sync/index.js")) => Promise<T>,
): Promise<T> {
  return page.evaluate(async (body) => {
    const script = `
      import * as terrane from "${location.origin}/terrane/dist/sync.js";
      const failed = (error) => ({ name: error.name, code: error.code, message: error.message });
      self.failure = (body) => {
        try { body(); } catch (error) { return failed(error); }
      };
      (${body})(terrane).then(
        (value) => postMessage({ value }),
        (error) => postMessage({ error: String(error.stack ?? error) }),
      );`;
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module" });
    const reply = await new Promise<{ value: unknown; error?: string }>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    worker.terminate();
    if (reply.error !== undefined) throw new Error(reply.error);
    return reply.value;
  }, body.toString()) as Promise<T>;
}

test("a page reads a worker's synced writes after it ended", async ({ storePage }) => {
  const page = await storePage();
  await inWorker(page, async ({ open }) => {
    const db = await open("sync");
    const users = db.keyspace("users");
    for (let i = 0; i < 5000; i++) db.put(`${i}`.padStart(5, "0"), "x".repeat(100));
    db.batch([
      { type: "put", key: "k", value: "v", keyspace: users },
      { type: "delete", key: "00000" },
    ]);
    db.sync();
    // Not closed: the worker ends as it is.
  });
  const seen = await page.evaluate(async () => {
    const db = await window.terrane.open("sync");
    const value = await db.keyspace("users", { create: false }).get("k");
    const count = await db.count();
    const busy = await db.getMany(["00000", "00001"]);
    await db.put("page", "wrote");
    await db.close();
    return { value, count, busy };
  });
  expect(seen).toEqual({ value: "v", count: 4999, busy: [undefined, "x".repeat(100)] });
  const again = await inWorker(page, async ({ open }) => {
    const db = await open("sync", { create: false });
    const [first] = db.keys();
    const last = [...db.entries({ reverse: true, limit: 1 })];
    db.close();
    return { first, last };
  });
  expect(again).toEqual({ first: "00001", last: [["page", "wrote"]] });
});

test("background jobs run between a worker's own turns", async ({ storePage }) => {
  const page = await storePage();
  const runs = await inWorker(page, async ({ open }) => {
    const db = await open("turns", { memtableBytes: 65536, policy: "leveled" });
    for (let i = 0; i < 200; i++) db.put(`${i}`, "x".repeat(500));
    const keyspace = () => db.stats().keyspaces[0];
    // No call makes any: they are made between turns, or never.
    while (keyspace()?.memtablesSealed !== 0 || keyspace()?.levels[0]?.tables !== 1) {
      await new Promise((resolve) => setTimeout(resolve));
    }
    const runs = keyspace()?.levels[0]?.runs;
    db.close();
    return runs;
  });
  expect(runs).toBe(1);
});

test("a worker exports, imports, copies and destroys stores", async ({ storePage }) => {
  const page = await storePage();
  const found = await inWorker(page, async ({ destroy, importStore, open }) => {
    const db = await open("a");
    for (let i = 0; i < 2000; i++) db.put(`${i}`, `${i}`);
    await db.checkpoint("b");
    await importStore("c", await db.export());
    const busy = await open("a", { timeout: 50 }).catch((error) => error.code);
    const taken = await db.checkpoint("b").catch((error) => error.code);
    const refused: unknown[] = [];
    for (const call of [
      destroy,
      (name: string, options: object) => importStore(name, new Blob(), options),
    ]) {
      refused.push(await call("a", { timeout: 2 ** 30 }).catch((error) => error.message));
    }
    db.close();
    await destroy("a");
    const gone = await open("a", { create: false }).catch((error) => error.code);
    const [b, c] = [await open("b"), await open("c")];
    const counts = [b.count(), c.count()];
    return { busy, taken, refused, gone, counts };
  });
  expect(found).toEqual({
    busy: "busy",
    taken: "invalid-argument",
    refused: Array(2).fill('store "a" is open here; close it first'),
    gone: "not-found",
    counts: [2000, 2000],
  });
});

test("a trap in your own worker fails every call; others work", async ({ storePage }) => {
  const page = await storePage();
  const found = await inWorker(page, async ({ open }) => {
    const { Instance } = WebAssembly;
    WebAssembly.Instance = function (module: WebAssembly.Module, imports: WebAssembly.Imports) {
      const { exports } = new Instance(module, imports);
      const store_flush = () => {
        throw new WebAssembly.RuntimeError("unreachable");
      };
      return { exports: { ...exports, store_flush } };
    } as unknown as typeof Instance;
    const db = await open("trap");
    const listening = db.events().next();
    db.put("k", "v", { durability: "sync" });
    const code = (body: () => unknown) => {
      try {
        body();
      } catch (error) {
        return (error as { code?: string }).code;
      }
      return undefined;
    };
    const codes = [code(() => db.flush()), code(() => db.get("k")), code(() => db.close())];
    const ended = await listening.catch((error) => error.code);
    const again = await open("trap").catch((error) => error.code);
    return [...codes, ended, again];
  });
  expect(found).toEqual(["engine", "engine", "engine", "engine", "engine"]);
  const value = await inWorker(page, async ({ open }) => (await open("trap")).get("k"));
  expect(value).toBe("v");
});

test.describe(() => {
  test.describe.configure({ retries: CLEARING_RETRIES });

  test("a store closes when its storage was cleared", async ({ origin, protocol, storePage }) => {
    const page = await storePage();
    const opened = page.waitForEvent("console", (message) => message.text() === "opened");
    const running = inWorker(page, async ({ open }) => {
      const db = await open("cleared");
      db.put("k", "v", { durability: "sync" });
      console.log("opened");
      const root = await navigator.storage.getDirectory();
      const isThere = () =>
        root.getDirectoryHandle("terrane").then(
          () => true,
          () => false,
        );
      while (await isThere()) await new Promise((resolve) => setTimeout(resolve, 10));
      // Open files are left as they are by the browser.
      db.put("k", "lost", { durability: "sync" });
      db.close();
      const closed = await open("cleared", { create: false, timeout: 0 }).catch(
        (error) => error.code,
      );
      const again = await open("cleared");
      const kept = again.get("k");
      again.put("k", "new", { durability: "sync" });
      again.close();
      const last = await open("cleared", { create: false, timeout: 0 });
      return { closed, kept, value: last.get("k"), damage: last.check().damage };
    });
    await opened;
    const browser = await protocol(page);
    await browser.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    expect(await running).toEqual({
      closed: "not-found",
      kept: undefined,
      value: "new",
      damage: [],
    });
  });
});
