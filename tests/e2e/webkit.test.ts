/** WebKit: stores in memory, the reason why there are no others, and the visualizer. */

import { expect, test as base } from "@playwright/test";
import { serve } from "./server.ts";
import { COLLECTING, WebKit } from "./webkit.ts";

const test = base.extend<
  { features: string[]; webkit: WebKit; storePage: WebKit },
  { origin: string }
>({
  origin: [
    async ({}, use) => {
      const { server, port } = await serve(false, COLLECTING);
      await use(`http://localhost:${port}`);
      server.closeAllConnections();
      server.close();
    },
    { scope: "worker" },
  ],
  features: [[], { option: true }],
  webkit: async ({ features }, use) => {
    const webkit = await WebKit.start(...features);
    await use(webkit);
    await webkit.close();
  },
  storePage: async ({ webkit, origin }, use) => {
    await webkit.goto(`${origin}/pages/store.html`);
    await webkit.until(() => "terrane" in window);
    await use(webkit);
  },
});

for (const policy of ["leveled", "vertiorizon"] as const) {
  test(`a ${policy} store in memory keeps what is put`, async ({ storePage }) => {
    const found = await storePage.evaluate(async (policy) => {
      const db = await window.terrane.open("memory", { storage: "memory", policy });
      for (let i = 0; i < 2000; i++) await db.put(`key ${10_000 + i}`, `value ${i}`);
      await db.flush();
      await db.delete("key 10001");
      const scanned = [];
      const range = { gte: "key 10000", lt: "key 10004" };
      for await (const [key, value] of db.entries(range)) scanned.push(`${key}=${value}`);
      const values = [await db.get("key 11999"), await db.get("key 10001")];
      await db.close();
      return { scanned, values };
    }, policy);
    expect(found.scanned).toEqual(["key 10000=value 0", "key 10002=value 2", "key 10003=value 3"]);
    // JSON has no undefined.
    expect(found.values).toEqual(["value 1999", null]);
    expect(await storePage.errors()).toEqual([]);
  });
}

const missing = "no store can be opened here: the browser has no origin private file system";
const denied = "the browser denied access to its private file system, as in private mode: ";

const asynchronous = "no store can be opened here: the browser has no synchronous files";

/** The reasons in a page, and in a worker of one's own. */
for (const [features, what, reason, own] of [
  [[], "without storage", missing, missing],
  [["+StorageAPI"], "whose storage has no files", missing, missing],
  [["+StorageAPI", "+FileSystem"], "without synchronous files", denied, asynchronous],
  [["+StorageAPI", "+FileSystem", "+AccessHandle"], "that denies files", denied, denied],
] as const) {
  test.describe(`a browser ${what}`, () => {
    test.use({ features: [...features] });

    test("says why no store is opened", async ({ storePage }) => {
      const failures = await storePage.evaluate(async () => {
        const { destroy, exists, open } = window.terrane;
        return [
          await window.failure(() => open("kept")),
          await window.failure(() => open("kept", { exclusive: true })),
          await window.failure(() => exists("kept")),
          await window.failure(() => destroy("kept")),
        ];
      });
      for (const failure of failures) {
        expect(failure).toMatchObject({ name: "UnavailableError", code: "unavailable" });
        expect(failure?.message).toContain(reason);
      }
    });

    test("says so in a worker of one's own", async ({ storePage, origin }) => {
      const answer = await storePage.evaluate(async (origin) => {
        const script = `
          import { open } from "${origin}/terrane/dist/sync.js";
          const failed = ({ name, message }) => postMessage([name, message]);
          open("kept").then(() => postMessage(["opened"]), failed);`;
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        const worker = new Worker(url, { type: "module" });
        return new Promise<string[]>((answered, failed) => {
          worker.onmessage = ({ data }) => answered(data);
          worker.onerror = ({ message }) => failed(new Error(message));
        });
      }, origin);
      expect(answer).toEqual(["UnavailableError", expect.stringContaining(own)]);
    });
  });
}

test("the first page plays up to a decision and its reason", async ({ webkit, origin }) => {
  await webkit.goto(`${origin}/demo/`);
  await webkit.until(() => {
    const time = document.querySelector(".transport strong")?.textContent ?? "";
    return Number.parseFloat(time) > 0;
  });
  await webkit.until(() => (document.querySelector(".verdict")?.textContent ?? "") !== "");
  expect(await webkit.errors()).toEqual([]);
});

test("a chapter measures its question", async ({ webkit, origin }) => {
  await webkit.goto(`${origin}/demo/#ch=basics`);
  await webkit.until(() => document.querySelector(".question input") !== null);
  await webkit.evaluate(() => {
    for (const field of document.querySelectorAll<HTMLInputElement>(".question input")) {
      field.value = "2";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  await webkit.until(() => {
    const buttons = [...document.querySelectorAll("button")];
    const run = buttons.find(({ textContent }) => textContent?.trim() === "Run");
    if (run === undefined || run.disabled) return false;
    run.click();
    return true;
  });
  await webkit.until(() => document.querySelector(".question .measured b") !== null);
  expect(await webkit.errors()).toEqual([]);
});
