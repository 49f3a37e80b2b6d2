/**
 * The packed package in the hands of strangers: the projects of tests/packages install the tarball,
 * build with their own tool, and each page keeps a store.
 */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, type Page, test } from "./fixtures.ts";
import { install, npm, projects, run, tarball } from "./packed.ts";

/** Writes on the page; reads after a reload, there and in a worker of the page's own. */
async function keepsAStore(page: Page, url: string): Promise<void> {
  const open = async () => {
    await page.waitForFunction(() => "terrane" in window);
    await page.evaluate(async () =>
      Object.assign(window, { db: await window.terrane.open("notes") }),
    );
  };
  await page.goto(url);
  await open();
  await page.evaluate(() => window.db.put("k", "v", { durability: "sync" }));
  // The code for this is loaded now.
  await page.evaluate(() =>
    window.db.transact(async (tx) => tx.put("later", (await tx.get("k"))!)),
  );
  await page.reload();
  await open();
  expect(await page.evaluate(() => window.db.getMany(["k", "later"]))).toEqual(["v", "v"]);
  const fromWorker = await page.evaluate(async () => {
    await window.db.close();
    return new Promise((resolve, reject) => {
      window.own.onmessage = ({ data }) => resolve(data);
      window.own.onerror = reject;
      window.own.postMessage({ name: "notes", key: "k" });
    });
  });
  expect(fromWorker).toBe("v");
}

for (const [bundler, output] of [
  ["webpack", ""],
  ["esbuild", ""],
  ["rollup", ""],
  ["rspack", ""],
  ["parcel", "dist/"],
] as const) {
  test(`a page that ${bundler} built keeps a store, under a sub-path`, async ({
    context,
    origin,
  }) => {
    npm(install(bundler), "run", "build");
    await keepsAStore(await context.newPage(), `${origin}/some/sub/path/${bundler}/${output}`);
  });
}

test("the React example follows what another page adds", async ({ context, origin }) => {
  npm(install("react"), "run", "build");
  const url = `${origin}/some/sub/path/react/`;
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const page of [one, two]) await page.goto(url);
  for (const [page, count] of [
    [one, 1],
    [two, 2],
    [one, 3],
  ] as const) {
    await page.getByRole("button", { name: `${count - 1} notes` }).click();
    await expect(page.getByRole("button")).toHaveText(`${count} notes`);
  }
  await two.reload();
  await expect(two.getByRole("button")).toHaveText("3 notes");
});

test("a page without a bundler keeps a store, under a sub-path", async ({ context, origin }) => {
  install("plain");
  await keepsAStore(await context.newPage(), `${origin}/some/sub/path/plain/`);
});

/** Runs Vite in the project; returns the page's URL, and how to end it. */
async function vite(folder: string, ...args: string[]): Promise<{ url: string; end: () => void }> {
  const server = spawn("node_modules/.bin/vite", args, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
  });
  const url = await new Promise<string>((resolve, reject) => {
    let said = "";
    server.stdout.on("data", (chunk: Buffer) => {
      said += chunk;
      const address = /Local: +(\S+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    server.on("exit", () => reject(new Error(`vite ${args.join(" ")} ended: ${said}`)));
  });
  return { url, end: () => server.kill() };
}

for (const mode of ["dev", "preview"]) {
  test(`a page from Vite's ${mode} server keeps a store`, async ({ context }) => {
    const folder = install("vite");
    if (mode === "preview") npm(folder, "run", "build");
    // Its cache may hold an earlier tarball.
    const { url, end } = await vite(folder, mode, ...(mode === "dev" ? ["--force"] : []));
    try {
      await keepsAStore(await context.newPage(), url);
    } finally {
      end();
    }
  });
}

test("Node imports the package without browser globals", () => {
  const script = `
    for (const name of ["self", "window", "document", "location", "navigator", "Worker"]) {
      const get = () => { throw new Error(name + " was touched"); };
      Object.defineProperty(globalThis, name, { get });
    }
    const { open } = await import("terrane");
    await import("terrane/worker");
    console.log(typeof open, import.meta.resolve("terrane/package.json"));
    console.log(import.meta.resolve("terrane/terrane_bg.wasm"));
  `;
  const said = run(install("plain"), "node", "--input-type=module", "--eval", script);
  expect(said).toMatch(/^function .*package\.json\n.*terrane_bg\.wasm\n$/);
});

test("publint, arethetypeswrong and typedoc report nothing", () => {
  const checks = join(projects, "checks");
  run(checks, "node_modules/.bin/publint", "--strict", tarball());
  run(checks, "node_modules/.bin/attw", "--profile", "esm-only", tarball());
  for (const entry of ["typedoc.json", "typedoc.worker.json"]) {
    run(checks, "node_modules/.bin/typedoc", "--emit", "none", "--options", entry);
  }
});

test("the types compile with a page's or a worker's libraries", () => {
  const folder = install("plain");
  const tsc = join(projects, "checks/node_modules/.bin/tsc");
  const options = "--noEmit --strict --skipLibCheck false --target es2022 --types --module esnext";
  for (const [script, lib] of [
    ["src/page.ts", "es2022,dom,dom.iterable,dom.asynciterable"],
    ["src/worker.ts", "es2022,webworker,webworker.iterable,webworker.asynciterable"],
  ] as const) {
    const resolution = ["--moduleResolution", "bundler", "--lib", lib];
    run(folder, tsc, ...options.split(" "), ...resolution, script);
  }
});
