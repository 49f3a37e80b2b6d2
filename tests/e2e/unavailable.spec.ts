/** Browsers without a private file system that a store can use: each call reports the reason. */

import { expect, test } from "./fixtures.ts";

for (const [what, access] of [
  [
    "rejects",
    'function () { return Promise.reject(new DOMException("no", "NotSupportedError")); }',
  ],
  ["lacks", "undefined"],
] as const) {
  test(`a browser that ${what} synchronous files has no store`, async ({ storePage }) => {
    const page = await storePage();
    const failures = await page.evaluate(async (access) => {
      const { importStore, open } = window.terrane;
      const exported = await open("source", { storage: "memory" });
      const file = await new Response(await exported.export()).blob();
      const worker = () => {
        const script = `
          import "${location.origin}/terrane/dist/worker.js";
          FileSystemFileHandle.prototype.createSyncAccessHandle = ${access};`;
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        return new Worker(url, { type: "module" });
      };
      return [
        await window.failure(() => open("none", { worker })),
        await window.failure(() => importStore("none", file, { worker })),
      ];
    }, access);
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: "UnavailableError", code: "unavailable" });
      expect(failure?.message).toMatch(/^the browser opens no file .* synchronously: \w+Error: ./);
    }
  });
}

test("a sandboxed frame has no store, but one in memory", async ({ storePage }) => {
  const page = await storePage();
  const framed = page.waitForEvent("frameattached");
  await page.evaluate(() => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.src = location.href;
    document.body.append(frame);
  });
  const frame = await framed;
  await frame.waitForFunction(() => "terrane" in window);
  const found = await frame.evaluate(async () => {
    const { destroy, importStore, open } = window.terrane;
    const failures = [
      await window.failure(() => open("sandboxed")),
      await window.failure(() => destroy("sandboxed")),
      await window.failure(() => importStore("sandboxed", new Blob([]))),
    ];
    const db = await open("sandboxed", { storage: "memory" });
    await db.put("k", "v");
    return { failures, value: await db.get("k") };
  });
  for (const failure of found.failures) {
    expect(failure).toMatchObject({ name: "UnavailableError", code: "unavailable" });
    expect(failure?.message).toContain("the page has no origin, as in a sandboxed frame");
  }
  expect(found.value).toBe("v");
});
