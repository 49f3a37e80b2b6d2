/** The suite that abstract-level publishes, over `terrane-level`: nothing of it is changed or left out. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { TerraneLevel } from "../../bindings-js/level/node.js";
import { folder } from "./folder.js";

const SUITE = fileURLToPath(
  new URL("../../bindings-js/level/test/suite.js", import.meta.url),
);

/** The number of assertions of abstract-level 3.1.1, by what the database supports. */
const ASSERTIONS = { directory: 5168, file: 5168, memory: 5156 };

for (const [where, expected] of Object.entries(ASSERTIONS)) {
  // It opens hundreds of stores, which takes minutes on a busy disk.
  const skip = where === "file" && !process.env["TERRANE_FULL"];
  test(`the suite of abstract-level passes, ${where}`, { skip }, async () => {
    const child = spawn(process.execPath, [SUITE, where], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
    const [code] = await once(child, "close");
    const failed = printed.match(/^(#.*\n)?not ok .*$/gm) ?? [];
    assert.deepEqual([code, failed], [0, []]);
    const counts = /^# tests (\d+)\n# pass +(\d+)$/m
      .exec(printed)
      ?.slice(1)
      .map(Number);
    assert.deepEqual(counts, [expected, expected]);
  });
}

test("a CommonJS program opens a database", async () => {
  const program = fileURLToPath(
    new URL("../../bindings-js/level/examples/main-process.cjs", import.meta.url),
  );
  const child = spawn(process.execPath, [program, folder()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const [code] = await once(child, "close");
  assert.deepEqual([code, printed.trim()], [0, '[["a",{"text":"hello"}]]']);
});

test("a signal ends an iterator's wait", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.batch(["a", "b"].map((key) => ({ type: "put", key, value: key })));
  const aborter = new AbortController();
  const iterator = db.iterator({ signal: aborter.signal });
  const pending = iterator.nextv(10);
  aborter.abort(new Error("enough"));
  await assert.rejects(pending, { name: "AbortError", code: "LEVEL_ABORTED" });
  await iterator.close();
  assert.deepEqual(await db.keys({ signal: new AbortController().signal }).all(), ["a", "b"]);
  await db.close();
});

test("text that is not well-formed is changed as by any Level", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  await db.put("a\ud800", "b\udfff");
  assert.equal(await db.get("a\ufffd"), "b\ufffd");
  await db.put("bytes", Uint8Array.of(0x61, 0xff), { valueEncoding: "view" });
  assert.equal(await db.get("bytes"), "a\ufffd");
  assert.equal(db.getSync("bytes"), "a\ufffd");
  assert.deepEqual(await db.getMany(["bytes", "none"]), ["a\ufffd", undefined]);
  assert.deepEqual(await db.values({ gte: "b" }).all(), ["a\ufffd"]);
  await db.close();
});

test("iterators continue from any position", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  const keys = Array.from({ length: 3000 }, (_, n) => String(n).padStart(5, "0"));
  await db.batch(keys.map((key) => ({ type: "put", key, value: key })));
  for (const reverse of [false, true]) {
    const expected = reverse ? keys.toReversed() : keys;
    const found = [];
    for await (const key of db.keys({ reverse })) found.push(key);
    assert.deepEqual(found, expected);
    const iterator = db.keys({ reverse });
    const mixed = [await iterator.next(), ...(await iterator.nextv(5)), await iterator.next()];
    for (let n = 0; n < 30; n++) mixed.push(await iterator.next());
    mixed.push(...(await iterator.nextv(500)), await iterator.next());
    assert.deepEqual(mixed, expected.slice(0, mixed.length));
    // While a page is being read ahead.
    iterator.seek("01000");
    assert.equal(await iterator.next(), "01000");
    iterator.seek("02000");
    assert.deepEqual(await iterator.nextv(1), ["02000"]);
    await iterator.close();
  }
  await db.close();
});

test("sizes and compactions wait for the opening", async () => {
  const db = new TerraneLevel(`${folder()}/store`);
  assert.equal(db.status, "opening");
  assert.equal(await db.approximateSize("a", "z"), 0);
  await db.close();
  const again = new TerraneLevel(db.location);
  await again.compactRange("a", "z");
  await again.close();
  for (const call of ["approximateSize", "compactRange"]) {
    await assert.rejects(again[call]("a", "z"), { code: "LEVEL_DATABASE_NOT_OPEN" });
  }
});
