/** Stores on their way: to native programs and back, and to other names on the origin. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./fixtures.ts";
import { patient } from "./patience.ts";
import { buildNative, terrane } from "./native.ts";

let folder: string;
test.beforeAll(() => {
  test.setTimeout(patient(600_000));
  folder = mkdtempSync(join(tmpdir(), "terrane-files-"));
  buildNative();
});
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Rows that fill several tables, not in order. */
const rows = Array.from({ length: 20_000 }, (_, i) => {
  const key = `${(i * 7919) % 20_000}`.padStart(5, "0");
  return [key, `${key}-é-`.repeat(4)] as const;
});
const inOrder = [...rows].sort(([a], [b]) => (a < b ? -1 : 1));
const asText = inOrder.map(([key, value]) => `${key}\t${value}\n`).join("");

test("exports of native programs and pages are interchangeable", async ({
  context,
  origin,
  storePage,
}) => {
  const [text, native] = [join(folder, "rows.tsv"), join(folder, "native")];
  writeFileSync(text, rows.map(([key, value]) => `${key}\t${value}\n`).join(""));
  terrane("load", native, text, "--format", "tsv");
  terrane("put", native, "k", "in another", "--keyspace", "users");
  terrane("policy", native, "tiered", "--keyspace", "users");
  const volume = join(folder, "native.terrane");
  terrane("export", native, volume);
  await context.route("**/native.terrane", (route) => route.fulfill({ path: volume }));

  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { importStore, open } = window.terrane;
    const { body } = await fetch("/native.terrane");
    if (body === null) throw new Error("no body");
    await importStore("native", body);
    const db = await open("native", { create: false });
    const lines: string[] = [];
    for await (const [key, value] of db.entries()) lines.push(`${key}\t${value}\n`);
    const users = db.keyspace("users", { create: false });
    const { policy } = await users.policy();
    const other = await users.get("k");
    await users.put("from", "the page");
    const { damage } = await db.check();
    // Not all at once: a page that takes its time still gets the store as it was.
    const stream = await db.export();
    await db.put("later", "x");
    const bytes = await new Response(stream).bytes();
    let binary = "";
    for (let at = 0; at < bytes.length; at += 0x8000) {
      binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    await db.sync();
    const left: string[] = [];
    const stores = await (await navigator.storage.getDirectory()).getDirectoryHandle("terrane");
    const directory = await stores.getDirectoryHandle("native");
    for await (const name of directory.keys()) left.push(name);
    return { text: lines.join(""), policy, other, damage, exported: btoa(binary), left };
  });
  expect(found.text).toBe(asText);
  expect([found.policy, found.other, found.damage]).toEqual(["tiered", "in another", []]);
  expect(found.left.sort()).toEqual(["data", "journal", "log"]);

  const [exported, back] = [join(folder, "page.terrane"), join(folder, "back")];
  writeFileSync(exported, Buffer.from(found.exported, "base64"));
  // As the file that it is, and imported into a directory.
  expect(terrane("scan", exported)).toBe(asText);
  terrane("import", exported, back);
  terrane("check", back);
  expect(terrane("scan", back)).toBe(asText);
  expect(terrane("scan", back, "--keyspace", "users")).toBe("from\tthe page\nk\tin another\n");
  expect(origin).toContain("localhost");
});

test("a checkpoint is an independent store", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { open } = window.terrane;
    const db = await open("source");
    const put = (_: unknown, i: number) => ({ type: "put" as const, key: `${i}`, value: "old" });
    await db.batch(Array.from({ length: 5000 }, put));
    await db.checkpoint("copy");
    await db.put("1", "new");
    const taken = await window.failure(() => db.checkpoint("copy"));
    const own = await window.failure(() => db.checkpoint("source", { timeout: 100 }));
    const copy = await open("copy", { create: false });
    const held = await window.failure(() => db.checkpoint("copy", { timeout: 100 }));
    const values = [await copy.get("1"), await copy.count(), await db.get("1")];
    return { taken, own, held, values };
  });
  expect(found.taken?.code).toBe("invalid-argument");
  expect(found.own?.code).toBe("busy");
  expect(found.held?.code).toBe("busy");
  expect(found.values).toEqual(["old", 5000, "new"]);
});

test("copies show their start, and other calls are served", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { importStore, open } = window.terrane;
    const { db, hold, release } = await window.openHeld("large");
    for (let n = 0; n < 16; n++) {
      // Random bytes, which no compression shrinks.
      const value = () => crypto.getRandomValues(new Uint8Array(32 << 10));
      const put = (_: unknown, i: number) =>
        ({ type: "put", key: `${n}/${i}`, value: value() }) as const;
      await db.batch(Array.from({ length: 16 }, put));
    }
    await db.put("k", "then");
    // Writes and reads a key while the copy, which has started, stands still.
    const during = async <T>(copy: () => Promise<T>, value: string) => {
      await hold();
      let isThere = false;
      const copying = copy();
      const done = () => (isThere = true);
      copying.then(done, done);
      await db.put("k", value);
      const seen = [await db.get("k"), await db.get("k")];
      const stoodStill = !isThere;
      await release();
      return { copy: await copying, seen, stoodStill };
    };
    const exported = await during(() => db.export(), "later");
    const copied = await during(() => db.checkpoint("copy"), "last");
    await importStore("back", exported.copy);
    // A close comes after the copies that were started before.
    const last = db.checkpoint("last");
    await db.close();
    await last;
    const shown: (string | number | undefined)[][] = [];
    for (const name of ["back", "copy", "last"]) {
      const copy = await open(name, { create: false });
      shown.push([await copy.get("k"), await copy.count()]);
    }
    const stoodStill = [exported.stoodStill, copied.stoodStill];
    return { seen: [exported.seen, copied.seen], stoodStill, shown };
  });
  expect(found.stoodStill).toEqual([true, true]);
  expect(found.seen).toEqual([
    ["later", "later"],
    ["last", "last"],
  ]);
  expect(found.shown).toEqual([
    ["then", 257],
    ["later", 257],
    ["last", 257],
  ]);
});

test("a failed import leaves nothing; none replaces a store", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { importStore, open } = window.terrane;
    const db = await open("there");
    // Random, so that every part of the file counts.
    const value = () => crypto.getRandomValues(new Uint8Array(50_000));
    await db.batch(["a", "b", "c"].map((key) => ({ type: "put", key, value: value() })));
    await db.flush();
    const whole = await new Response(await db.export()).blob();
    const cancelled = await db.export();
    await cancelled.cancel();
    await db.close();
    const aborter = new AbortController();
    const stuck = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(100)),
      // Asked for more: what is there is being written.
      pull: () => aborter.abort(),
    });
    const early = new AbortController();
    const atOnce = () => {
      const importing = importStore("early", whole, { signal: early.signal });
      early.abort();
      return importing;
    };
    const failures = {
      taken: await window.failure(() => importStore("there", whole)),
      exists: await window.failure(() => open("there", { errorIfExists: true })),
      noise: await window.failure(() => importStore("noise", new Blob(["x".repeat(100_000)]))),
      empty: await window.failure(() => importStore("empty", new Blob([]))),
      cut: await window.failure(() => importStore("cut", whole.slice(0, 100_000))),
      aborted: await window.failure(() =>
        importStore("aborted", stuck, { signal: aborter.signal }),
      ),
      early: await window.failure(atOnce),
      source: await window.failure(() => importStore("source", 7 as unknown as Blob)),
    };
    const names: string[] = [];
    const root = await navigator.storage.getDirectory();
    for await (const name of (await root.getDirectoryHandle("terrane")).keys()) names.push(name);
    await importStore("fresh", whole);
    const [again, fresh] = [await open("there"), await open("fresh")];
    const options = { valueEncoding: "binary" } as const;
    const same = String(await again.get("b", options)) === String(await fresh.get("b", options));
    return { failures, names, same };
  });
  const codes = Object.fromEntries(
    Object.entries(found.failures).map(([name, failure]) => [name, failure?.code]),
  );
  expect(codes).toEqual({
    taken: "invalid-argument",
    exists: "invalid-argument",
    noise: "invalid-argument",
    empty: "invalid-argument",
    cut: "corrupt",
    aborted: "aborted",
    early: "aborted",
    source: "invalid-argument",
  });
  const { taken, exists, noise, empty } = found.failures;
  expect(exists?.message).toBe(taken?.message);
  expect([taken, noise, empty].map((failure) => failure?.message)).toEqual([
    'place of a new store: expected no store there yet, found one in "there"',
    "source: expected an exported store's bytes, found others",
    "source: expected an exported store's bytes, found none",
  ]);
  expect(found.names).toEqual(["there"]);
  expect(found.same).toBe(true);
});

test("a store under a policy that the lean build lacks is imported", async ({ storePage }) => {
  const page = await storePage();
  const found = await page.evaluate(async () => {
    const { importStore, open } = window.terrane;
    const db = await open("full", { policy: "bucket" });
    await db.put("k", "v");
    const file = await new Response(await db.export()).blob();
    await db.close();
    await importStore("copy", file);
    const copy = await open("copy", { create: false });
    const { policy } = await copy.policy();
    return [policy, await copy.get("k")];
  });
  expect(found).toEqual(["bucket", "v"]);
});

const camelCase = (name: string) =>
  name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());

test("the command line's policies are the page's, with parameters", async ({ storePage }) => {
  const policies = JSON.parse(terrane("policies", "--json")) as {
    name: string;
    parameters: { name: string }[];
  }[];
  const page = await storePage();
  const { found, partitioned } = await page.evaluate(
    async (names) => {
      const db = await window.terrane.open("policies", {
        storage: "memory",
        policies: "all",
      });
      const found: { policy: string }[] = [];
      for (const name of names) {
        await db.setPolicy(name as "leveled");
        found.push(await db.policy());
      }
      await db.setPolicy({ policy: "tiered", partitioner: "global-range", domainLeast: "6b" });
      return { found, partitioned: await db.policy() };
    },
    policies.map(({ name }) => name),
  );
  // What the lean build does not know is there where it is not the default.
  const isOptional = (name: string) =>
    /^(partition|domain-|flush-floor-bytes|(max-)?subcompactions|pipelined|merge-waiting)/.test(
      name,
    );
  const expected = policies.map(({ parameters }) => {
    const names = parameters.map(({ name }) => name).filter((name) => !isOptional(name));
    return ["policy", ...names.map(camelCase)].toSorted();
  });
  expect(found.map(({ policy }) => policy)).toEqual(policies.map(({ name }) => name));
  expect(found.map((policy) => Object.keys(policy).toSorted())).toEqual(expected);
  expect(partitioned).toMatchObject({ partitioner: "global-range", domainLeast: "6b" });
});
