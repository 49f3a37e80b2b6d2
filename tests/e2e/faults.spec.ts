/** Stores when the browser, the disk or the bytes fail. */

import { CLEARING_RETRIES, expect, type Page, test } from "./fixtures.ts";

test("at the quota writes fail, and acknowledged ones stay", async ({
  origin,
  protocol,
  storePage,
}) => {
  const page = await storePage();
  const browser = await protocol(page);
  const quota = (bytes?: number) =>
    browser.send("Storage.overrideQuotaForOrigin", {
      origin,
      ...(bytes !== undefined && { quotaSize: bytes }),
    });
  await quota(16 << 20);
  const { failure, acknowledged, first, small, kept } = await page.evaluate(async () => {
    const db = await window.terrane.open("quota");
    let acknowledged = 0;
    const failure = await window.failure(async () => {
      for (; acknowledged < 4000; acknowledged++) {
        // Random bytes, which no compression shrinks.
        const value = crypto.getRandomValues(new Uint8Array(16 << 10));
        const key = `${acknowledged}`.padStart(6, "0");
        await db.put(key, value, { durability: "sync" });
      }
    });
    // Reads continue.
    const first = await db.get("000000", { valueEncoding: "binary" });
    window.db = db;
    const small = await window.failure(() => db.put("small", "v", { durability: "sync" }));
    return { failure, acknowledged, first: first?.length, small, kept: await db.get("small") };
  });
  expect(first).toBe(16 << 10);
  // What needs no more room is still written.
  if (small === undefined) expect(kept).toBe("v");
  else expect([small.code, kept]).toEqual(["quota", undefined]);
  expect(failure).toMatchObject({ name: "QuotaError", code: "quota" });
  expect(acknowledged).toBeGreaterThan(100);

  await quota();
  const { then, keys, damage, more } = await page.evaluate(async () => {
    const again = () => window.db.put("again", "v", { durability: "sync" });
    const then = await window.failure(again);
    await window.failure(() => window.db.close());
    const db = await window.terrane.open("quota", { valueEncoding: "binary" });
    const keys: string[] = [];
    for await (const [key] of db.entries({ lt: "a" })) keys.push(key);
    await db.put("more", "fits", { durability: "sync" });
    const { damage } = await db.check();
    return { then, keys, damage, more: await db.get("more", { valueEncoding: "utf8" }) };
  });
  // Once there is room writes continue, or say what has to be done.
  if (then !== undefined) expect(then.message).toContain("reopen the store");
  expect(damage).toEqual([]);
  expect(more).toBe("fits");
  expect(keys.length).toBeGreaterThanOrEqual(acknowledged);
  expect(keys).toEqual(keys.map((_, i) => `${i}`.padStart(6, "0")));
});

test("a copy that exceeds the quota leaves nothing behind", async ({
  origin,
  protocol,
  storePage,
}) => {
  const page = await storePage();
  await page.evaluate(async () => {
    window.db = await window.terrane.open("source");
    for (let n = 0; n < 200; n++) {
      await window.db.put(`${n}`, crypto.getRandomValues(new Uint8Array(1 << 16)));
    }
    await window.db.flush();
  });
  const browser = await protocol(page);
  const { usage } = await browser.send("Storage.getUsageAndQuota", { origin });
  await browser.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: usage + (6 << 20) });
  const found = await page.evaluate(async () => {
    const { db } = window;
    const failures = [
      await window.failure(() => db.checkpoint("copy")),
      await window.failure(() => db.export()),
    ];
    const left: string[] = [];
    const stores = await (await navigator.storage.getDirectory()).getDirectoryHandle("terrane");
    for await (const name of stores.keys()) left.push(name);
    const files = await stores.getDirectoryHandle("source");
    for await (const name of files.keys()) left.push(name);
    await db.put("k", "v", { durability: "sync" });
    return { failures, left: left.sort(), value: await db.get("k"), count: await db.count() };
  });
  for (const failure of found.failures) {
    expect(failure).toMatchObject({ name: "QuotaError", code: "quota" });
  }
  expect(found.left).toEqual(["data", "journal", "log", "source"]);
  expect([found.value, found.count]).toEqual(["v", 201]);
});

test("a check reports damage, and no read returns it", async ({ storePage }) => {
  const page = await storePage();
  const result = await page.evaluate(async () => {
    const { open } = window.terrane;
    const db = await open("damaged");
    const put = (i: number) => ({
      type: "put" as const,
      key: `${i}`.padStart(6, "0"),
      value: `${i}`.repeat(20),
    });
    await db.batch(Array.from({ length: 20_000 }, (_, i) => put(i)));
    await db.flush();
    await db.close();

    const root = await navigator.storage.getDirectory();
    const stores = await root.getDirectoryHandle("terrane");
    const file = await (await stores.getDirectoryHandle("damaged")).getFileHandle("data");
    const position = 100_000;
    const [byte = 0] = await (await file.getFile()).slice(position, position + 1).bytes();
    const writable = await file.createWritable({ keepExistingData: true });
    await writable.write({ type: "write", position, data: new Uint8Array([byte ^ 1]) });
    await writable.close();

    const again = await open("damaged");
    const { damage } = await again.check();
    let read = 0;
    let wrong = 0;
    const failure = await window.failure(async () => {
      for await (const [key, value] of again.entries()) {
        read += 1;
        if (value !== String(Number(key)).repeat(20)) wrong += 1;
      }
    });
    // All in one message.
    const keys = Array.from({ length: 20_000 }, (_, i) => put(i).key);
    const gets = await Promise.allSettled(keys.map((key) => again.get(key)));
    const codes = new Set<string>();
    const unread: number[] = [];
    for (const [n, get] of gets.entries()) {
      if (get.status === "rejected") {
        unread.push(n);
        codes.add((get.reason as { code: string }).code);
      } else if (get.value !== put(n).value) wrong += 1;
    }
    return { damage, failure, read, wrong, unread, codes: [...codes] };
  });
  expect(result.damage).toHaveLength(1);
  expect(result.damage[0]?.expected).not.toBe(result.damage[0]?.found);
  expect(result.failure).toMatchObject({ name: "CorruptError", code: "corrupt" });
  expect(result.wrong).toBe(0);
  // A block of some rows is lost; those before it are iterated, and all others are found.
  expect(result.codes).toEqual(["corrupt"]);
  expect(result.unread.length).toBeLessThan(2000);
  expect(result.read).toBe(result.unread[0]);
});

test("a module that cannot be loaded fails the opening", async ({ origin, storePage }) => {
  const page = await storePage();
  const failures = await page.evaluate(async () => {
    const { open } = window.terrane;
    const noModule = await window.failure(() => open("unloaded", { wasm: "/nowhere.wasm" }));
    const page = await window.failure(() => open("unloaded", { wasm: "/pages/store.html" }));
    const noWorker = await window.failure(() =>
      open("unloaded", { worker: () => new Worker("/nowhere.js", { type: "module" }) }),
    );
    const noScript = await window.failure(() =>
      open("unloaded", { worker: () => new Worker("/pages/store.html", { type: "module" }) }),
    );
    const after = await window.failure(() => open("unloaded", { timeout: 0 }));
    return { noModule, page, noWorker, noScript, after };
  });
  const { noModule, page: html, noWorker, noScript } = failures;
  for (const failure of [noModule, html, noWorker, noScript]) {
    expect(failure?.code).toBe("unavailable");
    expect(failure?.message).toMatch(/; see "Bundlers" in the README of terrane$/);
  }
  const expected = "the engine could not be loaded: expected a WebAssembly module at";
  expect(noModule?.message).toContain(`${expected} ${origin}/nowhere.wasm, found 404 Not Found;`);
  // As servers of one-page applications answer.
  const found = "found text/html; charset=utf-8";
  expect(html?.message).toContain(
    `${expected} ${origin}/pages/store.html, ${found}: CompileError:`,
  );
  const started = "the store's worker could not be loaded:";
  const missing = `${started} ${origin}/nowhere.js: expected a script, found 404 Not Found;`;
  expect(noWorker?.message).toContain(missing);
  expect(noScript?.message).toContain(`${started} ${origin}/pages/store.html: `);
  expect(failures.after).toBeUndefined();
});

/** The store's worker, in which `fault` stands for the engine's `write(...args)`. */
const inFaultyWorker = `(fault) => () => {
  const script = 'import "' + location.origin + '/terrane/dist/worker.js";'
    + 'const { Instance } = WebAssembly;'
    + 'WebAssembly.Instance = function (module, imports) {'
    + '  const { exports } = new Instance(module, imports);'
    + '  const { store_write: write } = exports;'
    + '  const store_write = (...args) => {' + fault + '};'
    + '  return { exports: { ...exports, store_write } };'
    + '};';
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(url, { type: "module" });
}`;

/** The worker of that fault, and what a first write and a second open then meet. */
async function meet(page: Page, name: string, fault: string) {
  return page.evaluate(
    async ([faulty, name, fault]) => {
      const { open } = window.terrane;
      const before = await open(name);
      await before.put("k", "v", { durability: "sync" });
      await before.close();
      const worker = (0, eval)(faulty)(fault) as () => Worker;
      let db: Awaited<ReturnType<typeof open>> | undefined;
      const opening = await window.failure(async () => {
        db = await open(name, { worker, exclusive: true });
      });
      const first = await window.failure(() => db?.put("k", "w", { durability: "sync" }));
      const later = await window.failure(() => db?.put("k", "x", { durability: "sync" }));
      await window.failure(() => db?.close());
      const again = await open(name);
      return { opening, first, later, value: await again.get("k") };
    },
    [inFaultyWorker, name, fault] as const,
  );
}

test("a trap fails every call and releases the store", async ({ storePage }) => {
  const found = await meet(
    await storePage(),
    "trap",
    `throw new WebAssembly.RuntimeError("unreachable");`,
  );
  expect(found.opening).toBeUndefined();
  expect(found.first).toMatchObject({ name: "EngineError", code: "engine" });
  expect(found.first?.message).toContain("unreachable");
  expect(found.later?.code).toBe("engine");
  expect(found.value).toBe("v");
});

for (const [what, returned, code] of [
  ["wrapped error code", "0xfffffff8", "quota"],
  ["short count", "bytes.length - 1", "io"],
  ["negative count", "-1", "io"],
] as const) {
  test(`a write that returns a ${what} fails`, async ({ storePage }) => {
    const found = await meet(
      await storePage(),
      "count",
      `const files = FileSystemSyncAccessHandle.prototype;
       const { write: writeFile } = files;
       files.write = (bytes) => ${returned};
       try { return write(...args); }
       finally { files.write = writeFile; }`,
    );
    expect(found.opening).toBeUndefined();
    expect(found.first?.code).toBe(code);
    // What the failed write left is unknown: the log takes no more until it is opened again.
    expect(found.later?.code).toBe(code);
    expect(found.later?.message).toContain("reopen the store");
    expect(found.value).toBe("v");
  });
}

test("without OPFS opening fails; there is no fallback", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const worker = () => {
      // A worker in which the browser denies access, as in a private window.
      const script = `
        import "${location.origin}/terrane/dist/worker.js";
        navigator.storage.getDirectory = () =>
          Promise.reject(new DOMException("denied", "SecurityError"));`;
      return new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), {
        type: "module",
      });
    };
    const { open } = window.terrane;
    const inWorker = await window.failure(() => open("private", { worker }));
    Object.defineProperty(navigator.storage, "getDirectory", { value: undefined });
    const inPage = await window.failure(() => open("private"));
    const db = await open("private", { storage: "memory" });
    await db.put("k", "v");
    return { failures: [inWorker, inPage], value: await db.get("k") };
  });
  for (const failure of found.failures) {
    expect(failure).toMatchObject({ name: "UnavailableError", code: "unavailable" });
  }
  expect(found.value).toBe("v");
});

test.describe(() => {
  test.describe.configure({ retries: CLEARING_RETRIES });

  test("cleared storage fails calls, and a new store works", async ({
    origin,
    protocol,
    storePage,
  }) => {
    const page = await storePage();
    await page.evaluate(async () => {
      const db = await window.terrane.open("cleared");
      await db.put("k", "v", { durability: "sync" });
      Object.assign(window, { db });
    });
    const browser = await protocol(page);
    await browser.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    const found = await page.evaluate(async () => {
      const { db } = window as unknown as { db: Awaited<ReturnType<typeof window.terrane.open>> };
      // The browser leaves open files as they are; the store looks for them now and then.
      const failure = await window.failure(async () => {
        for (;;) await db.put("k", "lost", { durability: "sync" });
      });
      await db.close();
      const again = await window.terrane.open("cleared");
      const kept = await again.get("k");
      await again.put("k", "new", { durability: "sync" });
      const { damage } = await again.check();
      return { failure, kept, damage, value: await again.get("k") };
    });
    expect(found.failure).toMatchObject({ name: "NotFoundError", code: "not-found" });
    expect(found.kept).toBeUndefined();
    expect(found.damage).toEqual([]);
    expect(found.value).toBe("new");
  });
});
