/** Loading the module, in Node.js: from its file, and over HTTP from servers that answer something else. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { open } from "../dist/sync.js";

const file = new URL("../dist/terrane_bg.wasm", import.meta.url);
const module = readFileSync(file);
/** The smallest module, which exports nothing. */
const another = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

const wasm = { "content-type": "application/wasm" };
const html = { "content-type": "text/html; charset=utf-8" };
const answers = {
  "/app.wasm": [200, html, "<!doctype html><title>app</title>"],
  "/gone.wasm": [404, html, "none"],
  "/cut.wasm": [200, wasm, module.subarray(0, 50_000)],
  "/cut": [200, {}, module.subarray(0, 50_000)],
  "/another.wasm": [200, wasm, another],
};
const server = createServer(({ url }, response) => {
  const [status, headers, body] = answers[url];
  response.writeHead(status, headers).end(body);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
after(() => server.close());
const origin = `http://127.0.0.1:${server.address().port}`;

const here = { storage: "memory" };

test("a module that is something else is named with its URL", async () => {
  for (const [path, found] of [
    ["/app.wasm", "text/html; charset=utf-8: CompileError: .*magic word.*"],
    ["/gone.wasm", "404 Not Found"],
    ["/cut.wasm", "application/wasm: CompileError: .*"],
    ["/cut", "no content type: CompileError: .*"],
  ]) {
    const url = `${origin}${path}`;
    const expected = `expected a WebAssembly module at ${url}, found ${found}`;
    const help = 'see "Bundlers" in the README of terrane';
    const message = `^the engine could not be loaded: ${expected}; ${help}$`;
    await assert.rejects(open("m", { ...here, wasm: url }), {
      name: "UnavailableError",
      message: new RegExp(message),
    });
  }
  const url = `${origin}/another.wasm`;
  await assert.rejects(open("m", { ...here, wasm: url }), {
    name: "UnavailableError",
    message: new RegExp(`^the engine could not be loaded: .*, in ${url}; see`),
  });
  await assert.rejects(open("m", { ...here, wasm: new URL("none.wasm", file) }), {
    name: "UnavailableError",
    message: /expected a WebAssembly module at file:.*none.wasm, found nothing: Error: ENOENT/,
  });
});

test("without a module a store in memory reads it from its file", async (context) => {
  for (const options of [here, { ...here, policies: "all", policy: "binomial" }]) {
    const db = await open("node", options);
    context.after(() => db.close());
    db.put("k", "v");
    assert.equal(db.get("k"), "v");
  }
});
