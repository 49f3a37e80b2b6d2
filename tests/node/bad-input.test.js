/** Bad input and bad places: each is an error of its class, and changes nothing. */

import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bundle, folder, run } from "./folder.js";

const asynchronous = await import(bundle("index.js"));
const synchronous = await import(bundle("sync.js"));
const { destroy, LevelStore } = await import(bundle("level.js"));
const { open } = synchronous;
const ENTRIES = { asynchronous, synchronous };

const PACKAGE = JSON.parse(
  readFileSync(new URL("../../bindings-js/node/package.json", import.meta.url), "utf8"),
);

/** Copies the package into an application, as if it were of another release. */
function copyPackage(version = PACKAGE.version) {
  const at = folder();
  mkdirSync(`${at}/dist`);
  const quoted = JSON.stringify(PACKAGE.version);
  const scripts = readdirSync(fileURLToPath(bundle("."))).filter((file) => file.endsWith(".js"));
  const sources = scripts.map((file) => readFileSync(fileURLToPath(bundle(file)), "utf8"));
  // The entries share what loads the addon, and with it the release.
  assert.equal(sources.filter((source) => source.includes(quoted)).length, 1);
  for (const [n, source] of sources.entries()) {
    const changed = source.replace(quoted, JSON.stringify(version));
    writeFileSync(`${at}/dist/${scripts[n]}`, changed);
  }
  copyFileSync(fileURLToPath(bundle("terrane.node")), `${at}/dist/terrane.node`);
  const description = { name: "application", version: "7.7.7", type: "module" };
  writeFileSync(`${at}/package.json`, JSON.stringify(description));
  return at;
}

const OPENED = `import { open } from ENTRY;
await open(process.argv[1]).then(
  () => console.log("opened"),
  ({ code, message }) => console.log(code, message),
);`;
const openedBy = (at, entry, path) =>
  run(OPENED.replace("ENTRY", JSON.stringify(`${at}/dist/${entry}`)), path);

test("an addon of another release is refused, and both are named", async () => {
  const at = copyPackage("99.0.0");
  for (const entry of ["index.js", "sync.js"]) {
    const printed = await openedBy(at, entry, `${at}/store`);
    assert.match(printed, /^unavailable terrane-node 99\.0\.0: .* found that of \d+\.\d+\.\d+$/);
  }
  assert.ok(!existsSync(`${at}/store`));
});

test("an error names the platform and package of a missing addon", async () => {
  const at = copyPackage();
  rmSync(`${at}/dist/terrane.node`);
  const platform = `${process.platform}-${process.arch}`;
  for (const entry of ["index.js", "sync.js"]) {
    const printed = await openedBy(at, entry, `${at}/store`);
    assert.match(printed, new RegExp(`^unavailable .*${platform}.* terrane-node-${platform}`));
  }
});

for (const [name, { open }] of Object.entries(ENTRIES)) {
  test(`keys and values over the limits take no memory, ${name}`, async () => {
    const db = await open(`${folder()}/store`);
    const long = "x".repeat(65_536);
    const refused = { code: "invalid-argument" };
    const value = new Uint8Array((64 << 20) + 1);
    const rejected = (body) => assert.rejects(async () => body(), refused);
    await rejected(() => db.put(long, "v"));
    await rejected(() => db.get(long));
    await rejected(() => db.getMany(["a", long]));
    await rejected(() => db.put("k", value, { valueEncoding: "binary" }));
    const most = "y".repeat(60 << 20);
    const batch = ["a", "b", "c"].map((key) => ({
      type: "put",
      key,
      value: most,
    }));
    await rejected(() => db.batch(batch));
    assert.equal(await db.count(), 0);
    await db.put("x".repeat(65_535), "longest");
    assert.equal(await db.get("x".repeat(65_535)), "longest");
    await db.close();
  });

  test(`a damaged table is reported with its place, ${name}`, async () => {
    const path = `${folder()}/store`;
    const db = await open(path);
    for (let n = 0; n < 1000; n++) await db.put(`key ${n}`, `value ${n}`.repeat(10));
    await db.flush();
    await db.close();
    const [table] = readdirSync(path).filter((file) => /sst|table/.test(file));
    const bytes = readFileSync(`${path}/${table}`);
    bytes.fill(0xaa, 100, 400);
    writeFileSync(`${path}/${table}`, bytes);
    const again = await open(path, { create: false });
    const failed = {
      code: "corrupt",
      message: /\.sst is damaged at byte \d+: expected/,
    };
    await assert.rejects(async () => {
      for (let n = 0; n < 1000; n++) await again.get(`key ${n}`);
    }, failed);
    assert.ok((await again.check()).damage.length > 0);
    await again.close();
  });
}

test("a place without permission is an error of its class", async (context) => {
  if (process.getuid?.() === 0) return context.skip("everything is permitted to this user");
  const at = folder();
  chmodSync(at, 0o500);
  for (const { open } of Object.values(ENTRIES)) {
    await assert.rejects(open(`${at}/store`), { code: "io" });
  }
});

test("the options of the first opening apply", async () => {
  const path = `${folder()}/store`;
  const first = await open(path, { cacheBytes: 1 << 20 });
  const second = await open(path, { cacheBytes: 64 << 20 });
  assert.equal(second.stats().cacheBytes, first.stats().cacheBytes);
  second.close();
  first.put("a", "1");
  first.close();
});

test("a store is what its path leads to, not the path", async () => {
  const at = folder();
  const db = await open(`${at}/old`);
  db.put("a", "moved");
  renameSync(`${at}/old`, `${at}/new`);
  const another = await open(`${at}/old`);
  assert.equal(another.get("a"), undefined);
  another.close();
  // The moved one accepts no writes until it is back.
  assert.equal(db.get("a"), "moved");
  renameSync(`${at}/old`, `${at}/other`);
  renameSync(`${at}/new`, `${at}/old`);
  const same = await open(`${at}/old`, { create: false });
  assert.equal(same.get("a"), "moved");
  same.close();
  db.close();
  const file = await open(`${at}/file`, { layout: "file" });
  linkSync(`${at}/file`, `${at}/link`);
  const linked = await open(`${at}/link`, { layout: "file" });
  file.put("b", "shared");
  assert.equal(linked.get("b"), "shared");
  file.close();
  linked.close();
});

test("destroying by a link takes the store with the link", async () => {
  const at = folder();
  for (const layout of ["directory", "file"]) {
    (await open(`${at}/${layout}`, { layout })).close();
    symlinkSync(`${at}/${layout}`, `${at}/link`);
    await synchronous.destroy(`${at}/link`);
  }
  symlinkSync(`${at}/nothing`, `${at}/dangling`);
  await destroy(`${at}/dangling`);
  assert.deepEqual(readdirSync(at), ["dangling"]);
});

test("a closed store refuses calls, and pending ones finish", async () => {
  const store = await LevelStore.open(`${folder()}/store`, {});
  const rows = store.scan({
    range: {},
    reverse: false,
    keys: "utf8",
    values: "utf8",
    snapshot: 0,
  });
  const pending = [
    store.write([{ type: "put", key: "a", value: "b" }], true),
    store.get("a", "utf8"),
  ];
  await store.close();
  await Promise.all(pending);
  rows.close();
  const closed = { code: "closed" };
  await assert.rejects(store.get("a", "utf8"), closed);
  await assert.rejects(store.write([{ type: "del", key: "a" }], false), closed);
  await assert.rejects(store.clear({}, false, Infinity), closed);
  await assert.rejects(rows.read(1, 1), closed);
  assert.throws(() => store.getSync("a", "utf8"), closed);
  assert.throws(() => store.snapshot(), closed);
  store.release(1);
});

test("a process may exit while calls are on their way", async () => {
  const path = `${folder()}/store`;
  const source = `import { LevelStore } from ${JSON.stringify(bundle("level.js"))};
    const store = await LevelStore.open(process.argv[1], {});
    const request = { range: {}, reverse: false, keys: "utf8", values: "utf8", snapshot: 0 };
    await store.write([{ type: "put", key: "a", value: "1" }], false);
    for (let n = 0; n < 100; n++) {
      store.get("a", "utf8");
      store.scan(request).read(1000, 1 << 20);
      store.write([{ type: "put", key: "k" + n, value: "v" }], true);
    }
    process.exit(0);`;
  for (let n = 0; n < 5; n++) await run(source, path);
  const db = await open(path, { create: false });
  assert.equal(db.get("a"), "1");
  assert.deepEqual(db.check().damage, []);
  db.close();
});
