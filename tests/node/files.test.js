/** Stores on files: who shares them, who is refused, and what is left. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { bundle, folder, run, start } from "./folder.js";

const asynchronous = await import(bundle("index.js"));
const synchronous = await import(bundle("sync.js"));
const { LevelStore, destroy: destroyLevel } = await import(bundle("level.js"));
const { destroy, importStore, open } = asynchronous;

const OPEN = `import { open } from ${JSON.stringify(bundle("index.js"))};
const path = process.argv[1];`;

async function bytesOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Blob(chunks);
}

test("openings of one path in a process share the store", async (context) => {
  const at = folder();
  const db = await open(`${at}/store`);
  await symlink(`${at}/store`, `${at}/link`);
  const sync = await synchronous.open(pathToFileURL(`${at}/link`));
  await db.put("a", "1");
  assert.equal(sync.get("a"), "1");
  sync.keyspace("k").put("b", "2");
  assert.equal(await db.keyspace("k").get("b"), "2");
  const snapshot = sync.snapshot();
  await db.close();
  sync.put("a", "2");
  assert.equal(snapshot.get("a"), "1");
  sync.close();
  const again = await open(`${at}/store`, { create: false });
  assert.equal(await again.get("a"), "2");
  await assert.rejects(open(`${at}/store`, { layout: "file" }), {
    code: "invalid-argument",
    message: /layout: expected "directory".*found "file"/,
  });
  await assert.rejects(synchronous.open(`${at}/store`, { errorIfExists: true }), {
    code: "invalid-argument",
  });
  await assert.rejects(synchronous.open(`${at}/store`, { readOnly: true }), {
    code: "invalid-argument",
    message: /readOnly: expected false, as which the store is open, found true/,
  });
  await again.close();
});

test("a policy that is named has the platform's sizes", async () => {
  const sizes = async (options) => {
    const db = await open(`${folder()}/store`, options);
    const { levelBaseBytes, targetFileBytes } = await db.policy();
    await db.close();
    return [levelBaseBytes, targetFileBytes];
  };
  const unnamed = await sizes({});
  assert.deepEqual(await sizes({ policy: "leveled" }), unnamed);
  const base = 8 << 20;
  const given = { policy: { policy: "leveled", levelBaseBytes: base } };
  assert.deepEqual(await sizes(given), [base, unnamed[1]]);
});

test("another process is told who has the store", async (context) => {
  const path = `${folder()}/store`;
  const { child, ended } = start(
    `${OPEN}
    await open(path);
    setInterval(() => undefined, 2 ** 30);
    console.log("open");`,
    path,
  );
  await new Promise((opened) => child.stdout.once("data", opened));
  const busy = {
    code: "busy",
    message: new RegExp(`process ${child.pid} \\(node\\)`),
  };
  await assert.rejects(open(path, { timeout: 0 }), busy);
  await assert.rejects(destroy(path, { timeout: 0 }), busy);
  // It waits for the other to end, and needs no close.
  const waiting = open(path, { timeout: 600_000 });
  child.kill("SIGKILL");
  await ended;
  const db = await waiting;
  await db.put("a", "1");
  await db.close();
});

test("an open store keeps no process, and a pending call does", async (context) => {
  const at = folder();
  for (const entry of ["index.js", "sync.js"]) {
    const path = `${at}/${entry}`;
    const printed = await run(
      `import { open } from ${JSON.stringify(bundle(entry))};
      const db = await open(process.argv[1]);
      await db.put("buffered", "yes");
      db.sync();
      for (let n = 0; n < 1000; n++) db.put("n" + n, "x".repeat(1000));
      Promise.resolve(db.export()).then(() => console.log("exported"));`,
      path,
    );
    assert.equal(printed, "exported");
    const db = await synchronous.open(path, { create: false });
    assert.equal(db.get("buffered"), "yes");
    assert.equal(db.count(), 1001);
    db.close();
  }
});

test("a store in a thread that is terminated is open no more", async (context) => {
  const path = `${folder()}/store`;
  const { Worker } = await import("node:worker_threads");
  const thread = new Worker(
    `import(${JSON.stringify(bundle("sync.js"))}).then(async ({ open }) => {
      const db = await open(${JSON.stringify(path)});
      const snapshot = db.snapshot();
      db.put("a", "1");
      const rows = db.entries();
      require("node:worker_threads").parentPort.postMessage("open");
      for (;;) db.get("a");
    });`,
    { eval: true },
  );
  await new Promise((opened) => thread.once("message", opened));
  const db = await synchronous.open(path);
  assert.equal(db.get("a"), "1");
  await thread.terminate();
  assert.equal(db.get("a"), "1");
  db.close();
  // Nobody in this process has it.
  const printed = await run(
    `${OPEN} const db = await open(path); console.log(await db.get("a")); await db.close();`,
    path,
  );
  assert.equal(printed, "1");
});

for (const [name, { destroy, importStore, open }] of Object.entries({
  asynchronous,
  synchronous,
})) {
  test(`a store of the same thread is not destroyed, ${name}`, async (context) => {
    const path = `${folder()}/store`;
    const [db, other] = [await open(path), await open(path)];
    await db.put("a", "1");
    const refused = { code: "busy", message: /is open here; close it first$/ };
    await assert.rejects(destroy(path, { timeout: 2 ** 30 }), refused);
    await db.close();
    await assert.rejects(destroy(path, { timeout: 2 ** 30 }), refused);
    await other.close();
    await destroy(path);
    await assert.rejects(open(path, { create: false }), { code: "not-found" });
  });

  test(`a store open by another entry is not destroyed, ${name}`, async () => {
    const path = `${folder()}/store`;
    const entries = { asynchronous, synchronous, level: { open: (at) => LevelStore.open(at, {}) } };
    for (const [other, { open }] of Object.entries(entries)) {
      const store = await open(path);
      const refused = { code: "busy", message: /is open here; close it first$/ };
      await assert.rejects(destroy(path, { timeout: 2 ** 30 }), refused, other);
      if (name === "synchronous") await assert.rejects(destroyLevel(path), refused, other);
      await store.close();
      await destroy(path);
    }
  });

  test(`of copies to one path one succeeds, ${name}`, async () => {
    const at = folder();
    const db = await open(`${at}/store`);
    await db.put("a", "1");
    const exported = await bytesOf(await db.export());
    const copies = [
      () => db.checkpoint(`${at}/copy`),
      () => db.checkpoint(`${at}/copy`),
      () => importStore(`${at}/copy`, exported),
      () => importStore(`${at}/copy`, exported),
    ];
    const ends = await Promise.allSettled(copies.map((copy) => copy()));
    const failed = ends.filter(({ status }) => status === "rejected").map(({ reason }) => reason);
    assert.deepEqual(
      failed.map(({ code }) => code),
      Array(3).fill("invalid-argument"),
    );
    await db.close();
    const copy = await open(`${at}/copy`, { create: false });
    assert.equal(await copy.get("a"), "1");
    assert.equal((await copy.check()).damage.length, 0);
    await copy.close();
    assert.deepEqual((await readdir(at)).sort(), ["copy", "store"]);
  });

  test(`a copy follows a link to an empty directory, ${name}`, async () => {
    const at = folder();
    const db = await open(`${at}/store`);
    await db.put("a", "1");
    await mkdir(`${at}/elsewhere`);
    await mkdir(`${at}/elsewhere/empty`);
    await symlink(`${at}/elsewhere/empty`, `${at}/link`);
    await db.checkpoint(`${at}/link`);
    await db.close();
    const copy = await open(`${at}/elsewhere/empty`, { create: false });
    assert.equal(await copy.get("a"), "1");
    await copy.close();
    assert.deepEqual(await readdir(`${at}/elsewhere`), ["empty"]);
  });

  test(`a copy that cannot be made says why, ${name}`, async () => {
    const at = folder();
    const db = await open(`${at}/store`);
    await writeFile(`${at}/file`, "");
    await assert.rejects(db.checkpoint(`${at}/file/copy`), {
      code: "io",
      message: /^could not open .*Not a directory/,
    });
    await symlink(`${at}/nowhere`, `${at}/link`);
    await assert.rejects(db.checkpoint(`${at}/link`), {
      code: "io",
      message: /^could not put the copy in the place of /,
    });
    await db.close();
    assert.deepEqual((await readdir(at)).sort(), ["file", "link", "store"]);
  });

  test(`copies and exports are stores, ${name}`, async (context) => {
    const at = folder();
    const db = await open(`${at}/store`);
    await db.put("a", "1");
    await db.checkpoint(`${at}/copy`);
    const exported = await bytesOf(await db.export());
    await importStore(`${at}/directory`, exported);
    await importStore(`${at}/file`, exported.stream(), { layout: "file" });
    await db.put("a", "2");
    await assert.rejects(db.checkpoint(`${at}/copy`), {
      code: "invalid-argument",
    });
    await assert.rejects(importStore(`${at}/copy`, exported), {
      code: "invalid-argument",
    });
    await db.close();
    for (const [copy, layout] of [["copy"], ["directory"], ["file", "file"]]) {
      const opened = await open(`${at}/${copy}`, { create: false, layout });
      assert.equal(await opened.get("a"), "1");
      assert.equal((await opened.check()).damage.length, 0);
      await opened.close();
    }
    assert.deepEqual((await readdir(at)).sort(), ["copy", "directory", "file", "store"]);
    for (const path of await readdir(at)) await destroy(`${at}/${path}`);
    assert.deepEqual(await readdir(at), []);
    await destroy(`${at}/none`);
  });

  test(`a mistaken place is refused and left as it is, ${name}`, async (context) => {
    const at = folder();
    await mkdir(`${at}/others`);
    await writeFile(`${at}/others/letter.txt`, "dear");
    await writeFile(`${at}/text`, "of another kind, and longer than a superblock".repeat(1000));
    await assert.rejects(open(`${at}/others`), {
      code: "not-found",
      message: /letter\.txt/,
    });
    await assert.rejects(open(`${at}/text`, { layout: "file" }), (error) => error.code !== "io");
    await assert.rejects(open(`${at}/text`), {
      code: "invalid-argument",
      message: /layout/,
    });
    await assert.rejects(open(`${at}/none`, { create: false }), {
      code: "not-found",
    });
    await assert.rejects(open(`${at}/none`, { readOnly: true }), {
      code: "not-found",
    });
    await assert.rejects(destroy(`${at}/others`), {
      code: "not-found",
      message: /letter\.txt/,
    });
    await assert.rejects(destroy(`${at}/text`), (error) => error.code !== "io");
    await assert.rejects(importStore(`${at}/new`, new Blob(["no store"])), {
      code: "invalid-argument",
      message: /source: expected an exported store's bytes, found others/,
    });
    assert.deepEqual((await readdir(at)).sort(), ["others", "text"]);
    assert.deepEqual(await readdir(`${at}/others`), ["letter.txt"]);
    assert.match(await readFile(`${at}/text`, "utf8"), /^of another kind/);
    for (const option of ["wasm", "worker", "exclusive"]) {
      await assert.rejects(open(`${at}/none`, { [option]: undefined }), {
        code: "invalid-argument",
        message: new RegExp(`found ${option}, which only a browser has`),
      });
    }
    await assert.rejects(open(`${at}/text/store`), {
      code: "io",
      message: /could not stat .*ENOTDIR/,
    });
    for (const path of ["", "a\0b", 7, new URL("https://example.com/a")]) {
      await assert.rejects(open(path), {
        code: "invalid-argument",
        message: /^path: /,
      });
    }
    assert.ok(!existsSync(`${at}/none`));
  });

  test(`a new store gets the folders that it needs, ${name}`, async () => {
    const at = folder();
    for (const layout of ["directory", "file"]) {
      const path = `${at}/of ${layout}/inside/store`;
      const db = await open(path, { layout });
      await db.put("a", "1");
      await db.checkpoint(`${at}/copy of ${layout}/inside/store`);
      const file = await bytesOf(await db.export());
      await db.close();
      await importStore(`${at}/imported ${layout}/inside/store`, file, {
        layout,
      });
      for (const copy of ["copy of", "imported"]) {
        const copied = await open(`${at}/${copy} ${layout}/inside/store`, {
          layout,
          create: false,
        });
        assert.equal(await copied.get("a"), "1");
        await copied.close();
      }
    }
  });

  test(`a store that is only read takes no writes, ${name}`, async (context) => {
    const path = `${folder()}/store`;
    const db = await open(path);
    await db.put("a", "1");
    await db.close();
    const reader = await open(path, { readOnly: true });
    assert.equal(await reader.get("a"), "1");
    const refused = { code: "read-only", message: /opened read-only/ };
    await assert.rejects(async () => reader.put("a", "2"), refused);
    await assert.rejects(async () => reader.batch([{ type: "delete", key: "a" }]), refused);
    await assert.rejects(async () => reader.clear(), refused);
    await reader.close();
  });
}

test("what only an origin has is refused by name", async () => {
  const db = await open("a", { storage: "memory" });
  for (const call of ["estimate", "persist"]) {
    const message = `${call}: expected a page, whose origin has a quota, found Node`;
    await assert.rejects(db[call](), { code: "unavailable", message });
  }
  await db.close();
});
