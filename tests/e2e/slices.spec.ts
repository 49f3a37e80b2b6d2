/** Calls that take their time leave the worker to others in between. */

import { CLEARING_RETRIES, expect, type Page, test } from "./fixtures.ts";

/** Opens a store as `window.db`, and as `window.held`; gives it 3 MiB in a table, and 7 MiB in memory. */
async function fill(page: Page, name: string): Promise<void> {
  await page.evaluate(async (name) => {
    const held = await window.openHeld(name, { memtableBytes: 16 << 20 });
    const { db } = held;
    Object.assign(window, { held, db });
    for (let n = 0; n < 20; n++) {
      // Random bytes, which no compression shrinks.
      const value = () => crypto.getRandomValues(new Uint8Array(32 << 10));
      const put = (_: unknown, i: number) =>
        ({ type: "put", key: `${n}/${i}`, value: value() }) as const;
      await db.batch(Array.from({ length: 16 }, put));
      if (n === 5) await db.flush();
    }
    await db.put("k", "v");
  }, name);
}

test("gets and writes are served during flush, compaction, check", async ({ storePage }) => {
  const page = await storePage();
  await fill(page, "busy");
  const found = await page.evaluate(async () => {
    const { held } = window as unknown as { held: Awaited<ReturnType<typeof window.openHeld>> };
    const { db, hold, release } = held;
    /** Reads while the call, which has started, stands still; returns whether it does. */
    const served = async (call: () => Promise<unknown>, value: string) => {
      await hold();
      let isDone = false;
      const calling = call();
      const done = () => (isDone = true);
      calling.then(done, done);
      await db.put("later", value);
      const read = await db.getMany(["k", "later"]);
      const stoodStill = !isDone;
      await release();
      await calling;
      return { read, stoodStill };
    };
    const flush = await served(() => db.flush(), "1");
    const compaction = await served(() => db.compactRange(), "2");
    const [level] = (await db.levels()).filter((level) => level.runs.length > 0).slice(-1);
    const check = await served(() => db.check(), "3");
    const { damage, entries } = await db.check();
    return { served: [flush, compaction, check], runs: level?.runs.length, damage, entries };
  });
  // All at once, none would stand still.
  expect(found.served).toEqual(
    ["1", "2", "3"].map((value) => ({ read: ["v", value], stoodStill: true })),
  );
  expect(found.runs).toBe(1);
  expect(found.damage).toEqual([]);
  expect(found.entries).toBeGreaterThan(320);
});

test("a close waits for earlier calls; a signal stops no work", async ({ storePage }) => {
  const page = await storePage();
  await fill(page, "closing");
  const found = await page.evaluate(async () => {
    const { db, terrane } = window;
    const aborter = new AbortController();
    const { signal } = aborter;
    const failing = [
      () => db.flush({ signal }),
      () => db.compactRange({ signal }),
      () => db.check({ signal }),
    ].map(window.failure);
    // They are sent by then, in a microtask queued earlier.
    queueMicrotask(() => aborter.abort());
    const aborted = (await Promise.all(failing)).map((failure) => failure?.code);
    const calls = [db.put("k", "w"), db.flush(), db.compactRange(), db.check(), db.close()];
    const settled = await Promise.allSettled(calls);
    const after = await window.failure(() => db.flush());
    const again = await terrane.open("closing", { create: false, timeout: 0 });
    const { damage } = await again.check();
    return { aborted, settled, after, value: await again.get("k"), damage };
  });
  expect(found.aborted).toEqual(["aborted", "aborted", "aborted"]);
  expect(found.settled.map(({ status }) => status)).toEqual(Array(5).fill("fulfilled"));
  expect(found.after?.code).toBe("closed");
  expect([found.value, found.damage]).toEqual(["w", []]);
});

test("a trap between steps fails the call, releases the store", async ({ storePage }) => {
  const page = await storePage();
  await fill(page, "trap");
  const found = await page.evaluate(async () => {
    await window.db.close();
    const worker = () => {
      const script = `
        import "${location.origin}/terrane/dist/worker.js";
        const { Instance } = WebAssembly;
        WebAssembly.Instance = function (module, imports) {
          const { exports } = new Instance(module, imports);
          let steps = 0;
          const steps_step = (...args) => {
            if (++steps === 3) throw new WebAssembly.RuntimeError("unreachable");
            return exports.steps_step(...args);
          };
          return { exports: { ...exports, steps_step } };
        };`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      return new Worker(url, { type: "module" });
    };
    const { open } = window.terrane;
    const db = await open("trap", { worker });
    const calls = [db.check(), db.compactRange(), db.get("k")];
    const codes = await Promise.all(
      calls.map((call) =>
        call.then(
          () => "done",
          (error) => error.code,
        ),
      ),
    );
    const again = await open("trap", { create: false });
    return { codes, value: await again.get("k") };
  });
  expect(found).toEqual({ codes: ["engine", "engine", "done"], value: "v" });
});

/** Puts the bytes of a store of some MiB on the window of the page. */
async function exported(page: Page): Promise<void> {
  await fill(page, "source");
  await page.evaluate(async () => {
    const whole = await new Response(await window.db.export()).blob();
    await window.db.close();
    Object.assign(window, { whole });
  });
}

test("an import aborted at its end leaves nothing", async ({ storePage }) => {
  const page = await storePage();
  await exported(page);
  const found = await page.evaluate(async () => {
    const { importStore, open } = window.terrane;
    const { whole } = window as unknown as { whole: Blob };
    const off = new AbortController();
    const worker = () => {
      const worker = new Worker("/terrane/dist/worker.js", { type: "module" });
      const post = worker.postMessage.bind(worker);
      // When all bytes are there.
      worker.postMessage = (requests: { op: string }[], transfer: unknown) => {
        post(requests, transfer as Transferable[]);
        // Before the page can see a reply.
        if (requests.some(({ op }) => op === "endImport")) queueMicrotask(() => off.abort());
      };
      return worker;
    };
    const failure = await window.failure(() =>
      importStore("copy", whole, { signal: off.signal, worker }),
    );
    const names: string[] = [];
    const root = await navigator.storage.getDirectory();
    for await (const name of (await root.getDirectoryHandle("terrane")).keys()) names.push(name);
    await importStore("copy", whole, { timeout: 0 });
    const copy = await open("copy", { create: false });
    return { failure, names, count: await copy.count() };
  });
  expect(found.failure?.code).toBe("aborted");
  expect(found.names).toEqual(["source"]);
  expect(found.count).toBe(321);
});

test.describe(() => {
  test.describe.configure({ retries: CLEARING_RETRIES });

  test("clearing storage fails an import and releases the name", async ({
    origin,
    protocol,
    storePage,
  }) => {
    const page = await storePage();
    await exported(page);
    await page.evaluate(() => {
      const { whole } = window as unknown as { whole: Blob };
      // The last byte comes when the storage was cleared.
      const source = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(await whole.slice(0, -1).bytes());
          Object.assign(window, {
            async goOn() {
              controller.enqueue(await whole.slice(-1).bytes());
              controller.close();
              return importing;
            },
          });
        },
      });
      const importing = window.failure(() => window.terrane.importStore("copy", source));
    });
    const stores = () =>
      page.evaluate(async () => {
        const root = await navigator.storage.getDirectory();
        const names: string[] = [];
        for await (const name of (await root.getDirectoryHandle("terrane")).keys())
          names.push(name);
        return names.includes("copy");
      });
    await expect.poll(stores).toBe(true);
    const browser = await protocol(page);
    await browser.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    const found = await page.evaluate(async () => {
      const { whole, goOn } = window as unknown as {
        whole: Blob;
        goOn: () => ReturnType<typeof window.failure>;
      };
      const failure = await goOn();
      await window.terrane.importStore("copy", whole);
      return { failure, count: await (await window.terrane.open("copy")).count() };
    });
    expect(found.failure?.code).toBe("not-found");
    expect(found.count).toBe(321);
  });
});

test("an import that ended with its page can be repeated", async ({ storePage }) => {
  const page = await storePage();
  await exported(page);
  const count = await page.evaluate(async () => {
    const { destroy, importStore, open } = window.terrane;
    const { whole } = window as unknown as { whole: Blob };
    const stores = await (await navigator.storage.getDirectory()).getDirectoryHandle("terrane");
    const begun = async () => {
      const data = await (await stores.getDirectoryHandle("cut")).getFileHandle("data");
      return (await data.getFile()).size > 0;
    };
    // The import may be faster than this page: then it is tried again.
    for (let isCut = false; !isCut;) {
      let worker: Worker | undefined;
      const importing = importStore("cut", whole, {
        worker: () => (worker = new Worker("/terrane/dist/worker.js", { type: "module" })),
      });
      let isDone = false;
      void importing.then(() => (isDone = true));
      while (!isDone && !(await begun().catch(() => false)))
        await new Promise((next) => setTimeout(next));
      worker?.terminate();
      const rejected = await window.failure(async () =>
        (await open("cut", { create: false })).close(),
      );
      isCut = rejected?.code === "not-found";
      if (rejected && !isCut) throw new Error(JSON.stringify(rejected));
      if (!isCut) await destroy("cut");
    }
    await importStore("cut", whole);
    return (await open("cut", { create: false })).count();
  });
  expect(count).toBe(321);
});
