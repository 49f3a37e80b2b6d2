/** Faults of the worker that serves several tabs, and storage that is cleared underneath them. */

import { CLEARING_RETRIES, expect, test } from "./fixtures.ts";
import { CLEARING } from "./server.ts";
import { opened } from "./tabs.ts";

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
        const options = { worker, syncInterval: 100, timeout: 120_000 };
        window.db = await window.terrane.open("failing", options);
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
    // Follower writes until the leader's worker has failed.
    await tabs[1]?.evaluate(() => {
      let ends = false;
      const written = (async () => {
        const codes = new Set<string | undefined>();
        while (!ends) codes.add((await window.failure(() => window.db.put("other", "w")))?.code);
        return [...codes];
      })();
      const end = () => ((ends = true), written);
      Object.assign(window, { end });
    });
    const failed = tabs.map((tab) =>
      tab.evaluate(async () => (await (window as unknown as Failing).failed)?.code),
    );
    expect(await failed[0]).toBe(code);
    const written = (await tabs[1]?.evaluate("end()")) as (string | undefined)[];
    // A follower that finds the worker gone before it gets the failure sends its call again.
    const codes = new Set([...(await Promise.all(failed)), ...written]);
    codes.delete(undefined);
    expect([...codes]).toEqual([code]);
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

test.describe(() => {
  test.describe.configure({ retries: CLEARING_RETRIES });

  test("cleared storage fails calls in every tab; a new store works", async ({ storePage }) => {
    const tabs = [await storePage(), await storePage(), await storePage(), await storePage()];
    for (const [at, tab] of tabs.entries()) {
      await opened(tab, "cleared");
      await tab.evaluate(async (at) => {
        const { db } = window;
        await db.put(`${at}`, "v", { durability: "sync" });
        // A call in flight.
        const failed = window.failure(() => db.watch({ prefix: "none" }).next());
        Object.assign(window, { failed });
        await db.get("other");
      }, at);
    }
    await tabs[1]!.evaluate((path) => fetch(path), CLEARING);
    const codes = await Promise.all(
      tabs.map((tab) =>
        tab.evaluate(async () => {
          const { db } = window;
          // The browser leaves open files as they are; the store looks for them now and then.
          const later = await window.failure(async () => {
            for (;;) await db.put("k", "lost", { durability: "sync" });
          });
          const inFlight = await (window as unknown as Failing).failed;
          return [inFlight?.code, later?.code];
        }),
      ),
    );
    expect(codes).toEqual(tabs.map(() => ["not-found", "not-found"]));
    await Promise.all(tabs.map((tab) => tab.evaluate(() => window.db.close())));
    // Pages that were open when the storage was cleared may have no locks in common with later workers.
    const reopened = await Promise.all(
      tabs.map((tab) =>
        tab.evaluate(async () => {
          const failure = await window.failure(async () => {
            window.db = await window.terrane.open("cleared", { timeout: 120_000 });
          });
          return failure?.code;
        }),
      ),
    );
    expect(reopened).toContain(undefined);
    expect(reopened.filter((code) => code !== undefined && code !== "unavailable")).toEqual([]);
    if (reopened.some((code) => code !== undefined)) {
      // Nor have they locks in common with later pages: one that stayed would keep those from the store.
      for (const tab of tabs) await tab.reload();
      for (const tab of tabs) {
        await tab.waitForFunction(() => "terrane" in window);
        await opened(tab, "cleared");
      }
    }
    for (const [at, tab] of tabs.entries()) {
      await tab.evaluate((at) => window.db.put(`${at}`, "new", { durability: "sync" }), at);
    }
    const values = await tabs[0]!.evaluate(() => window.db.getMany(["0", "1", "2", "3", "k"]));
    expect(values).toEqual(["new", "new", "new", "new", undefined]);
  });
});
