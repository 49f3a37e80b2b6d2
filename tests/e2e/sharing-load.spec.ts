/**
 * Seeded loads of tabs that share a store, while the one that leads is closed, reloaded, navigated away, put into the
 * back/forward cache, crashed, killed, stopped, frozen, or loses its worker, and while tabs are hidden and shown: every
 * call ends, the history of each key is linearizable, snapshots never change, and watches reach the last state. A
 * service worker takes part. TERRANE_CHANGES, TERRANE_TABS and TERRANE_SEED choose others. A change that takes too long
 * says what each tab waits for. A tab that crashes unasked is opened anew, and the history is checked to its end; the
 * test fails with what has crashed, unless it is a fault of Chromium.
 */

import { expect, full, openStorePage, type Page, test } from "./fixtures.ts";
import { type Call, impossible } from "./histories.ts";
import { patient } from "./patience.ts";
import { processOf } from "./processes.ts";

const TABS = Number(process.env["TERRANE_TABS"] ?? 3);
const CHANGES = Number(process.env["TERRANE_CHANGES"] ?? (full ? 500 : 20));
/** Clocks of tabs may differ by that many milliseconds. */
const SLACK = 5;
/** The most milliseconds of a change, and of what a tab says about it. */
const [CHANGE_TIME, ANSWER_TIME] = [patient(120_000), patient(5_000)];
/**
 * The change in which Chromium may crash a tab: it freezes workers amid their code, and grants them locks then, whose
 * callbacks it refuses to call.
 */
const FROZEN = "back";
const seed = Number(process.env["TERRANE_SEED"] ?? (full ? Date.now() % 1e6 : 1));

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The load of a tab, which runs until it is stopped. */
interface Load {
  calls: Call[];
  failed: string[];
  /** The calls without an answer, each with the milliseconds since it was made. */
  pending(): string[];
  /** Stops writing. */
  rest(): Promise<void>;
  /** Returns the values that the watch has led to, once these are the store's. */
  watched(): Promise<(string | undefined)[]>;
  stop(): Promise<void>;
}

declare const load: Load;

/** Opens the store in a tab, and starts its load. */
async function start(page: Page, tab: number): Promise<void> {
  await page.evaluate(async (tab) => {
    const KEYS = 4;
    const LANES = 4;
    let worker: Worker | undefined;
    window.db = await window.terrane.open("load", {
      timeout: 30_000,
      worker: () => (worker = new Worker("/terrane/dist/worker.js", { type: "module" })),
    });
    const { db } = window;
    const calls: Call[] = [];
    const failed: string[] = [];
    // What a tab that goes away has seen is kept by the one that records.
    let log: BroadcastChannel | undefined = new BroadcastChannel("log");
    const unsent: Call[] = [];
    addEventListener("pagehide", () => {
      log?.close();
      log = undefined;
    });
    // A page that is restored from the cache continues.
    addEventListener("pageshow", () => {
      log ??= new BroadcastChannel("log");
      for (const call of unsent.splice(0)) log.postMessage(call);
    });
    let count = 0;
    let ends = false;
    const now = () => performance.timeOrigin + performance.now();
    const waiting = new Set<[what: string, start: number]>();
    const waitFor = async <T>(what: string, body: () => Promise<T>): Promise<T> => {
      const call: [string, number] = [what, now()];
      waiting.add(call);
      return body().finally(() => waiting.delete(call));
    };
    const pending = () => [...waiting].map(([what, start]) => `${what}: ${now() - start}`);
    const run = async (call: Omit<Call, "start" | "end">, body: () => Promise<unknown>) => {
      const done: Call = { ...call, start: now(), end: null };
      try {
        const found = await waitFor(`${call.kind} ${call.key}`, body);
        if (call.kind === "read") done.value = (found as string | undefined) ?? null;
        done.end = now();
      } catch (error) {
        const { code, message } = error as { code: string; message: string };
        // A swap that was refused has read something else; it is not checked.
        if (code !== "conflict") failed.push(`${code}: ${message}`);
        if (code === "conflict") return;
      }
      calls.push(done);
      if (log === undefined) unsent.push(done);
      else log.postMessage(done);
    };
    const keys = Array.from({ length: KEYS }, (_, at) => `k${at}`);
    const pause = () => new Promise((passed) => setTimeout(passed, 5));
    /** Runs a body that reads what the worker holds, which a change of leader may end. */
    const holding = async (what: string, body: () => Promise<void>) => {
      while (!ends) {
        try {
          await waitFor(what, body);
        } catch (error) {
          const { code, message } = error as { code: string; message: string };
          if (code !== "closed" || !/ended: /.test(message)) failed.push(`${code}: ${message}`);
        }
        await pause();
      }
    };
    const snapshots = async () => {
      const snapshot = db.snapshot();
      try {
        const before = await snapshot.getMany(keys);
        await pause();
        const after = await snapshot.getMany(keys);
        if (`${before}` !== `${after}`) failed.push(`a snapshot changed: ${before}, ${after}`);
      } finally {
        snapshot.release();
      }
    };
    const iterations = async () => {
      let last = "";
      for await (const key of db.keys({ prefix: "k" })) {
        if (key <= last) failed.push(`an iteration returned ${key} after ${last}`);
        last = key;
        await pause();
      }
    };
    let seen: (string | undefined)[] = [];
    const stopped = new AbortController();
    const watch = async () => {
      try {
        for await (const _ of db.watch({ prefix: "k", signal: stopped.signal })) {
          seen = await waitFor("watch", () => db.getMany(keys));
        }
      } catch (error) {
        const { code, message } = error as { code: string; message: string };
        if (code === "engine" && !ends) return watch();
        if (code !== "aborted") failed.push(`watch: ${code}: ${message}`);
      }
    };
    const watching = watch();
    const lane = async () => {
      while (!ends) {
        const key = `k${Math.floor(Math.random() * KEYS)}`;
        const value = `${tab}:${count++}`;
        const kind = Math.random();
        const durability = Math.random() < 0.3 ? "sync" : "buffered";
        if (kind < 0.4) {
          await run({ kind: "read", key, value: null }, () => db.get(key));
        } else if (kind < 0.8) {
          await run({ kind: "write", key, value }, () => db.put(key, value, { durability }));
        } else {
          const before = await db.get(key).catch(() => undefined);
          const condition = before === undefined ? { key, exists: false } : { key, value: before };
          await run({ kind: "swap", key, value, expected: before ?? null }, () =>
            db.batch([{ type: "put", key, value }], { if: [condition] }),
          );
        }
        await pause();
      }
    };
    const lanes = Array.from({ length: LANES }, lane);
    lanes.push(holding("snapshot", snapshots), holding("iteration", iterations));
    const rest = async () => {
      ends = true;
      await Promise.all(lanes);
    };
    const watched = async () => {
      const last = await db.getMany(keys);
      while (`${seen}` !== `${last}`) await pause();
      return seen;
    };
    const stop = async () => {
      stopped.abort();
      await watching;
      await db.close();
    };
    const load = { calls, failed, pending, rest, watched, stop };
    Object.assign(window, { load, endWorker: () => worker?.terminate() });
  }, tab);
}

/** Hides or shows a tab, as its browser would. */
function show(page: Page, state: "visible" | "hidden"): Promise<void> {
  return page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
}

/** Waits until a tab leads, and each has got further; returns who leads. */
async function progress(pages: readonly Page[]): Promise<number> {
  const before = await Promise.all(pages.map((page) => page.evaluate(() => load.calls.length)));
  await Promise.all(
    pages.map((page, at) =>
      page.waitForFunction((count) => load.calls.length > count + 10, before[at] ?? 0),
    ),
  );
  let leader = -1;
  await expect
    .poll(async () => {
      const roles = await Promise.all(pages.map((page) => page.evaluate(() => window.db.role)));
      leader = roles.indexOf("leader");
      return leader;
    })
    .toBeGreaterThanOrEqual(0);
  return leader;
}

/** Says what a tab waits for, and who holds which locks. */
async function describe(page: Page, at: number): Promise<string> {
  const asked = page.evaluate(async () => {
    const { held = [], pending = [] } = await navigator.locks.query();
    const names = (locks: LockInfo[]) =>
      locks.map(({ name, clientId }) => `${name} of ${clientId}`);
    return {
      role: window.db.role,
      visible: document.visibilityState,
      calls: load.calls.length,
      pending: load.pending(),
      failed: load.failed,
      locks: { held: names(held), pending: names(pending) },
    };
  });
  const late = new Promise((passed) => setTimeout(passed, ANSWER_TIME, "no answer"));
  const found: unknown = await Promise.race([asked, late]).catch(String);
  return `tab ${at}: ${JSON.stringify(found, undefined, 1)}`;
}

/** Runs a part of the test. If it fails or does not end, the error has what the tabs wait for. */
async function within(what: string, pages: readonly Page[], body: () => Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((passed) => (timer = setTimeout(passed, CHANGE_TIME, "no end")));
  const run = body().then(
    () => undefined,
    (error: unknown) => error,
  );
  const failure = await Promise.race([run, late]);
  clearTimeout(timer);
  if (failure === undefined) return;
  const found = await Promise.all(pages.map(describe));
  throw new Error([`${what}: ${failure}`, ...found].join("\n"));
}

test("the checker finds what no store shows", () => {
  const at = (kind: Call["kind"], value: string | null, start: number, end: number | null) => ({
    kind,
    key: "k",
    value,
    start,
    end,
  });
  const [one, two] = [at("write", "1", 0, 10), at("write", "2", 20, 30)];
  const wrong = (...calls: Call[]) => impossible([one, two, ...calls], 0).length;
  expect(wrong(at("read", "1", 15, 16), at("read", "2", 22, 23), at("read", "2", 40, 41))).toBe(0);
  // Lost, and written twice.
  expect(wrong(at("read", "1", 40, 41))).toBe(1);
  expect(wrong(at("read", null, 40, 41))).toBe(2);
  const during = at("write", "3", 21, 60);
  expect(wrong(during, at("read", "2", 50, 51), at("read", "3", 52, 53))).toBe(0);
  const again = [at("read", "2", 50, 51), at("read", "3", 52, 53)];
  expect(wrong(during, at("read", "3", 40, 41), ...again)).toBe(1);
  // Of a write that failed, nothing is known until it is read.
  const failed = at("write", "4", 35, null);
  expect(wrong(failed, at("read", "2", 50, 51))).toBe(0);
  expect(wrong(failed, at("read", "4", 40, 41), at("read", "2", 50, 51))).toBe(1);
  const swaps = ["5", "6"].map((value) => ({ ...at("swap", value, 35, 60), expected: "2" }));
  expect(wrong(...swaps)).toBe(1);
});

test("every call ends, and no write is lost or takes effect twice", async ({
  context,
  origin,
  storePage,
  browserName,
}) => {
  test.setTimeout(CHANGE_TIME * (CHANGES + 2));
  console.log(`TERRANE_SEED=${seed}`);
  const random = randomFrom(seed);
  const recorder = await storePage();
  await recorder.evaluate(() => {
    const calls: Call[] = [];
    new BroadcastChannel("log").onmessage = ({ data }) => calls.push(data as Call);
    Object.assign(window, { takeCalls: () => JSON.stringify(calls.splice(0)) });
  });
  await recorder.evaluate(() =>
    navigator.serviceWorker.register("/pages/loading-worker.js", { type: "module" }),
  );
  /** Asks the service worker, which the browser may end when nobody does; returns what has failed in it. */
  const service = (what: "load" | "stop") =>
    recorder.evaluate(async (what) => {
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      return new Promise<string[]>((resolve) => {
        port1.onmessage = ({ data }) => resolve(data as string[]);
        active?.postMessage(what, [port2]);
      });
    }, what);
  // In parts, as text: a browser takes minutes to pass on a million objects, or gives up.
  const calls: Call[] = [];
  const collect = async () => {
    const taken = JSON.parse(await recorder.evaluate<string>("takeCalls()")) as Call[];
    for (const call of taken) calls.push(call);
  };
  let tabs = 0;
  // Tabs may share a process, and crash together.
  const crashed = new Set<Page>();
  const another = async (): Promise<Page> => {
    const page = await openStorePage(context, origin);
    page.on("crash", () => crashed.add(page));
    await start(page, tabs++);
    return page;
  };
  const pages: Page[] = [];
  const revive = async () => {
    for (const [at, page] of pages.entries()) {
      if (!crashed.has(page)) continue;
      await page.close();
      pages[at] = await another();
    }
    crashed.clear();
  };
  for (let tab = 0; tab < TABS; tab++) pages.push(await another());
  /** Ways in which the tab that leads goes away. Its calls in flight are nobody's concern then. */
  const ways: Record<string, (page: Page, at: number) => Promise<unknown>> = {
    close: async (page, at) => {
      await page.close();
      pages[at] = await another();
    },
    reload: async (page) => {
      await page.reload();
      await page.waitForFunction(() => "terrane" in window);
      await start(page, tabs++);
    },
    navigate: async (page) => {
      await page.goto(`${origin}/pages/blank.html`);
      await page.goto(`${origin}/pages/store.html`);
      await page.waitForFunction(() => "terrane" in window);
      await start(page, tabs++);
    },
    endWorker: (page) => page.evaluate("endWorker()"),
    // The page returns from the cache, if the browser has put it there.
    back: async (page) => {
      await page.goto(`${origin}/pages/blank.html`);
      await page.goBack({ waitUntil: "commit" });
      await page.waitForFunction(() => "terrane" in window);
      if (!(await page.evaluate(() => "load" in window))) await start(page, tabs++);
    },
    // Chromium freezes hidden tabs, which its headless mode does not have.
    freeze: async (page) => {
      const happen = (type: string) =>
        page.evaluate((type) => document.dispatchEvent(new Event(type)), type);
      await happen("freeze");
      await progress(pages.filter((other) => other !== page));
      await happen("resume");
    },
    hide: async (page) => {
      await show(page, "hidden");
      await expect.poll(() => page.evaluate(() => window.db.role)).toBe("follower");
      await show(page, "visible");
    },
  };
  if (browserName === "chromium") {
    ways["crash"] = async (page) => {
      const protocol = await context.newCDPSession(page);
      void protocol.send("Page.crash").catch(() => undefined);
      await expect.poll(() => crashed.has(page)).toBe(true);
    };
    ways["kill"] = async (page) => {
      const before = crashed.size;
      process.kill(await processOf(page), "SIGKILL");
      await expect.poll(() => crashed.size).toBeGreaterThan(before);
    };
    ways["stop"] = async (page) => {
      const pid = await processOf(page);
      process.kill(pid, "SIGSTOP");
      await new Promise((passed) => setTimeout(passed, 1000));
      process.kill(pid, "SIGCONT");
    };
  }
  const names = Object.keys(ways);
  const failures: string[] = [];
  /** Runs a step that may crash tabs, and opens those anew. Returns how many they were. */
  const crashes = async (step: () => Promise<unknown>): Promise<number> => {
    try {
      await step();
    } catch (error) {
      if (!/crashed/i.test(`${error}`)) throw error;
      await expect.poll(() => crashed.size).toBeGreaterThan(0);
    }
    const count = crashed.size;
    await revive();
    return count;
  };
  const unasked = (count: number, name: string) => {
    if (count === 0 || name === "crash" || name === "kill") return;
    const found = `${name} crashed ${count} tabs`;
    console.log(found);
    if (name !== FROZEN || browserName !== "chromium") failures.push(found);
  };
  let name = "";
  /** Waits as `progress` does; a crash of the last change may be late. */
  const settled = async (): Promise<number> => {
    for (;;) {
      let leader = -1;
      const count = await crashes(async () => (leader = await progress(pages)));
      if (count === 0) return leader;
      unasked(count, name);
    }
  };
  const apply = async (change: number) => {
    const leader = await settled();
    name = names[Math.floor(random() * names.length)] as string;
    // Now and then the change is made to a tab that follows.
    const at = random() < 0.2 && name !== "hide" ? (leader + 1) % TABS : leader;
    const page = pages[at] as Page;
    console.log(`change ${change}: ${name} of ${at === leader ? "the leader" : "a follower"}`);
    if (name === "endWorker") {
      // Only the tab whose worker ended may see an error, and only that one.
      await ways[name]?.(page, at);
      await progress(pages);
      const own = await page.evaluate(() => load.failed.splice(0));
      failures.push(...own.filter((why) => !why.startsWith("engine: ")));
    } else {
      unasked(await crashes(async () => ways[name]?.(page, at)), name);
    }
  };
  for (let change = 0; change < CHANGES; change++) {
    await within(`change ${change}`, pages, async () => {
      failures.push(...(await service("load")));
      await apply(change);
    });
    await collect();
  }
  await within("the end", pages, async () => {
    await settled();
    await Promise.all(pages.map((page) => page.evaluate(() => load.rest())));
    failures.push(...(await service("stop")));
    const watched = await Promise.all(pages.map((page) => page.evaluate(() => load.watched())));
    expect(watched).toEqual(pages.map(() => watched[0]));
    for (const page of pages) {
      failures.push(...(await page.evaluate(() => load.stop().then(() => load.failed))));
    }
  });
  expect(failures).toEqual([]);
  await collect();
  expect(calls.length).toBeGreaterThan(10 * TABS * CHANGES);
  // Values of the service worker have its random id.
  expect(calls.some(({ value }) => /^[\da-f-]{36}:/.test(value ?? ""))).toBe(true);
  expect(impossible(calls, SLACK)).toEqual([]);
  // Nothing is left of any of them.
  const locks = () =>
    recorder.evaluate(async () => {
      const { held = [], pending = [] } = await navigator.locks.query();
      return [...held, ...pending].map(({ name }) => name);
    });
  await expect.poll(locks).toEqual([]);
});
