/** Changes of leader, and what ends with one. */

import { expect, full, type Page, test } from "./fixtures.ts";
import { become, opened, openMuted, type Worked } from "./tabs.ts";

declare const worked: Worked;

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

test("a worker does not request the lock of its own page", async ({ storePage }) => {
  const leader = await opened(await storePage(), "own");
  const follower = await opened(await storePage(), "own");
  // Its record names it to the next worker, which waits for the locks of clients.
  await follower.evaluate(() => window.db.put("a", "1"));
  await leader.close();
  await become(follower, "leader");
  const other = await opened(await storePage(), "own");
  expect(await other.evaluate(() => window.db.get("a"))).toBe("1");
  const clients = await follower.evaluate(async () => {
    const { held = [], pending = [] } = await navigator.locks.query();
    const names = (locks: LockInfo[]) =>
      locks.map(({ name = "" }) => name).filter((name) => name.startsWith("terrane-client:"));
    return { held: names(held), pending: names(pending) };
  });
  expect(clients.held).toHaveLength(2);
  expect(clients.pending).toHaveLength(1);
});

test("a snapshot that ended says why, and so does an iteration", async ({ storePage }) => {
  const leader = await opened(await storePage(), "ended");
  const follower = await opened(await storePage(), "ended");
  const hold = (page: Page) =>
    page.evaluate(async () => {
      // A page of rows, which comes with the call, and a row that does not.
      await window.db.put("k", "v".repeat(100_000));
      await window.db.put("later", "v");
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
        window.failure(async () => {
          for await (const _ of iteration);
        }),
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

/** Counts the records of clients of store "last", which an opening that shares it with nobody leaves as they are. */
async function records(): Promise<number> {
  let worker: Worker | undefined;
  const start = () => (worker = new Worker("/terrane/dist/worker.js", { type: "module" }));
  const db = await window.terrane.open("last", { exclusive: true, worker: start });
  const ask = (request: object) =>
    new Promise<unknown>((resolve) => {
      worker?.addEventListener("message", ({ data: [, value] }) => resolve(value), {
        once: true,
      });
      worker?.postMessage([{ id: -1, ...request }]);
    });
  // The number by which the worker knows their keyspace.
  const keyspace = 0xffff_ffff;
  const any = await ask({ op: "call", method: "records", args: [keyspace, false] });
  if (any !== true) throw new Error("expected a keyspace with records");
  const scan = { scan: -1, keyspace, snapshot: 0, reverse: false, limit: Infinity };
  await ask({ op: "scan", ...scan, range: new Uint8Array(2) });
  const { entries } = (await ask({ op: "count", scan: -1, entries: 1000 })) as { entries: number };
  await db.close();
  return entries;
}

test("the last page to close leaves no record of writes", async ({ storePage }) => {
  const leader = await opened(await storePage(), "last");
  const follower = await opened(await storePage(), "last");
  await follower.evaluate(() => window.db.put("a", "1"));
  await leader.evaluate(() => window.db.close());
  await become(follower, "leader");
  await follower.evaluate(() => window.db.close());
  expect(await follower.evaluate(records)).toBe(0);
});

test("a leader that does not answer is named, and no call hangs", async ({ storePage }) => {
  const [leader, follower] = [await storePage(), await storePage()];
  await openMuted(leader, "stopped", false);
  await follower.evaluate(async () => {
    window.db = await window.terrane.open("stopped");
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
