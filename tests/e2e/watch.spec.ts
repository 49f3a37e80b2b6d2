/** Watches of a page that is hidden or suspended, and the stores of its origin. */

import { expect, test } from "./fixtures.ts";

test("a watch goes on after its page was suspended", async ({ storePage }) => {
  const page = await storePage();
  const seen = await page.evaluate(async () => {
    const { exists, open, stores } = window.terrane;
    const db = await open("watched");
    const changes = db.watch({ prefix: "a" });
    const next = async () => (await changes.next()).value?.keys ?? "sum";
    await db.put("a1", "v");
    const before = await next();
    const asked = next();
    await db.sync();
    dispatchEvent(new PageTransitionEvent("pagehide"));
    dispatchEvent(new PageTransitionEvent("pageshow"));
    const resumed = await asked;
    await db.batch([
      { type: "put", key: "a2", value: "v" },
      { type: "put", key: "b", value: "v" },
    ]);
    const after = await next();
    const names = [await stores(), await exists("watched"), await exists("none")];
    await db.close();
    return { before, resumed, after, done: (await changes.next()).done, names };
  });
  expect(seen).toEqual({
    before: ["a1"],
    resumed: "sum",
    after: ["a2"],
    done: true,
    names: [["watched"], true, false],
  });
});

test("a hidden page takes no changes until it is visible", async ({ storePage }) => {
  const page = await storePage();
  const seen = await page.evaluate(async () => {
    const db = await window.terrane.open("hidden", { storage: "memory" });
    const changes = db.watch();
    const show = (state: string) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    };
    show("hidden");
    let taken = false;
    const next = changes.next().then(({ value }) => {
      taken = true;
      return value?.keys;
    });
    for (const key of ["a", "b", "c"]) await db.put(key, "v");
    await db.sync();
    const before = taken;
    show("visible");
    return { before, keys: await next };
  });
  expect(seen).toEqual({ before: false, keys: ["a", "b", "c"] });
});
