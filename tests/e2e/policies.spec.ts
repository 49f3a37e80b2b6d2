/** The two builds of the engine: which is loaded, and what the small one lacks. */

import { expect, test } from "./fixtures.ts";

test("the build with all policies is loaded where one of them is needed, and only there", async ({
  storePage,
}) => {
  const page = await storePage();
  const loaded: string[] = [];
  page.context().on("request", (request) => {
    const [file] = request.url().match(/[^/]+\.wasm$/) ?? [];
    if (file !== undefined) loaded.push(file);
  });
  const [rejected, found] = await page.evaluate(async () => {
    const { open } = window.terrane;
    const lean = await open("lean");
    const rejected = await window.failure(() => lean.setPolicy("minlatency"));
    await lean.close();
    const given = await open("rich", { policy: "binomial" });
    await given.put("k", "v", { durability: "sync" });
    await given.close();
    const stored = await open("rich");
    const policy = (await stored.policy()).policy;
    const value = await stored.get("k");
    await stored.close();
    const asked = await open("lean", { policies: "all" });
    await asked.setPolicy("minlatency");
    const set = (await asked.policy()).policy;
    await asked.close();
    return [rejected, { policy, value, set }] as const;
  });
  expect(found).toEqual({ policy: "binomial", value: "v", set: "minlatency" });
  expect(rejected?.code).toBe("invalid-argument");
  expect(rejected?.message).toContain('open the store with policies: "all"');
  const [lean, all] = ["terrane_bg.wasm", "terrane_all_bg.wasm"];
  // By name, since a browser may take either from its cache.
  expect(loaded.toSorted()).toEqual([all, all, all, lean, lean].toSorted());
});

test("where the build with all policies cannot be loaded, the error names policy and file", async ({
  storePage,
}) => {
  const page = await storePage();
  const [stored, given] = await page.evaluate(async () => {
    const { open } = window.terrane;
    await (await open("rich", { policy: "binomial" })).close();
    // A worker that finds no such file.
    const worker = () => {
      const script = `
        const { fetch } = self;
        self.fetch = (url) => fetch(String(url).replace("_all_bg", "_none"));
        import("${location.origin}/terrane/dist/worker.js").then(() => {
          for (const data of waiting) self.onmessage({ data });
        });
        const waiting = [];
        self.onmessage = ({ data }) => waiting.push(data);`;
      const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      return new Worker(url, { type: "module" });
    };
    return [
      await window.failure(() => open("rich", { worker })),
      await window.failure(() => open("other", { worker, policy: "minlatency" })),
    ];
  });
  for (const [failure, policy] of [
    [stored, "binomial"],
    [given, "minlatency"],
  ] as const) {
    expect(failure?.code).toBe("unavailable");
    expect(failure?.message).toContain(policy);
    expect(failure?.message).toContain("terrane_");
  }
});
