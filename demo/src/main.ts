/** The page: one store, opened at once, and the forms that use it. */

import { type Db, destroy, type Entry, open } from "terrane";
import { load, type Progress, sample } from "./load.ts";
import { columnsOf, type Format, formats, guessFormat, NUMBER } from "./rows.ts";
import { element, fillSelect, showEntries, showFailure, showStats, toggle, write } from "./view.ts";
import { bytes, count, plural, time } from "./words.ts";

const STORE = "demo";
const PAGE_ENTRIES = 100;
/** How often the figures are renewed during a load, in milliseconds. */
const STATS_INTERVAL = 250;

let db: Db | undefined;
let loading: AbortController | undefined;
let scan: AsyncGenerator<Entry<"utf8", "utf8">, void> | undefined;

const input = (id: string) => element<HTMLInputElement>(id);
const choice = (id: string) => element<HTMLSelectElement>(id).value;

/** Runs what a visitor asked for; what fails is shown. */
function act(body: (db: Db) => Promise<void>): void {
  if (db === undefined) return;
  showFailure(undefined);
  body(db).catch(showFailure);
}

async function start(): Promise<void> {
  showFailure(undefined);
  write("state", "Opening…");
  const began = performance.now();
  try {
    db = await open(STORE);
    const opened = performance.now() - began;
    await refresh(db);
    write("state", `Opened in ${time(opened)}. ${await census(db)}`);
  } catch (error) {
    write("state", "The store is not open.");
    showFailure(error);
  }
}

/** Counts the keys by reading them all. */
async function census(db: Db): Promise<string> {
  const began = performance.now();
  const keys = await db.count();
  write("keys", count(keys));
  return keys === 0 ? "It is empty." : `All keys read in ${time(performance.now() - began)}.`;
}

async function refresh(db: Db): Promise<void> {
  showStats(await db.stats());
}

async function describeFile(): Promise<void> {
  const file = input("file").files?.[0];
  toggle("columns", file !== undefined);
  element<HTMLButtonElement>("start").disabled = file === undefined;
  if (file === undefined) return;
  const text = element("load").querySelector("label.file span");
  if (text !== null) text.textContent = `${file.name}, ${bytes(file.size)}`;
  const format = choice("format") as Format;
  const { keys, values } = columnsOf(format, await sample(file, format));
  const number = format === "lines" ? "line number" : "row number";
  const named = (name: string): [string, string] => [name, name === NUMBER ? number : name];
  fillSelect("key-column", keys.map(named));
  fillSelect("value-column", values.map(named));
  const value = element<HTMLSelectElement>("value-column");
  if (value.value === choice("key-column") && values.length > 1) value.selectedIndex = 1;
}

async function loadFile(db: Db): Promise<void> {
  const file = input("file").files?.[0];
  if (file === undefined || loading !== undefined) return;
  loading = new AbortController();
  showLoading(true);
  write("loaded", "");
  const renew = setInterval(() => void refresh(db).catch(() => undefined), STATS_INTERVAL);
  try {
    const columns = { key: choice("key-column"), value: choice("value-column") };
    const format = choice("format") as Format;
    const done = await load(db, file, format, columns, loading.signal, showProgress);
    write("loaded", `Loaded ${plural(done.rows, "row")} in ${time(done.milliseconds)}.`);
  } catch (error) {
    if (!loading.signal.aborted) throw error;
    write("loaded", "Stopped. The rows loaded so far are kept.");
  } finally {
    clearInterval(renew);
    loading = undefined;
    showLoading(false);
    write("state", await census(db));
    await refresh(db);
  }
}

function showLoading(running: boolean): void {
  toggle("cancel", running);
  toggle("progress", running);
  element<HTMLButtonElement>("start").disabled = running;
  element<HTMLButtonElement>("clear").disabled = running;
}

function showProgress({ rows, bytes: read, totalBytes, milliseconds }: Progress): void {
  const [bar] = element("progress").getElementsByTagName("progress");
  if (bar !== undefined) bar.value = totalBytes === 0 ? 1 : read / totalBytes;
  const seconds = Math.max(milliseconds, 1) / 1000;
  const rate = `${count(rows / seconds)} rows/s, ${bytes(read / seconds)}/s`;
  write("rate", `${plural(rows, "row")}, ${rate}`);
}

async function look(db: Db): Promise<void> {
  const key = input("get-key").value;
  const began = performance.now();
  const value = await db.get(key);
  const taken = time(performance.now() - began);
  const output = element("value");
  output.dataset.found = String(value !== undefined);
  output.textContent = value ?? `No such key (${taken}).`;
  output.title = taken;
}

async function beginScan(db: Db): Promise<void> {
  await scan?.return();
  const [from, to] = [input("scan-from").value, input("scan-to").value];
  const bounds = { ...(from !== "" && { gte: from }), ...(to !== "" && { lte: to }) };
  scan = db.entries({ ...bounds, reverse: input("scan-reverse").checked });
  element("entries").replaceChildren();
  await continueScan();
}

async function continueScan(): Promise<void> {
  const began = performance.now();
  const entries: Entry<"utf8", "utf8">[] = [];
  let ended = false;
  while (scan !== undefined && !ended && entries.length < PAGE_ENTRIES) {
    const next = await scan.next();
    if (next.done) ended = true;
    else entries.push(next.value);
  }
  showEntries(entries);
  const shown = element("entries").childElementCount;
  const taken = time(performance.now() - began);
  write("scanned", shown === 0 ? "No key in this range." : `${plural(shown, "key")}, ${taken}.`);
  const table = element("entries").closest<HTMLElement>(".scroll");
  if (table !== null) table.hidden = shown === 0;
  toggle("more", !ended);
}

async function check(db: Db): Promise<void> {
  write("cared", "Checking…");
  const began = performance.now();
  const { tables, logRecords, damage } = await db.check();
  const read = `${plural(tables, "table")} and ${plural(logRecords, "log record")} read`;
  const found = damage.map(
    (d) => `${d.file} at byte ${d.offset}: expected ${d.expected}, found ${d.found}`,
  );
  const verdict = found.length === 0 ? "All sound" : `Damage: ${found.join("; ")}`;
  write("cared", `${verdict}. ${read} in ${time(performance.now() - began)}.`);
}

async function clear(open: Db): Promise<void> {
  const dialog = element<HTMLDialogElement>("confirm");
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  if (dialog.returnValue !== "delete") return;
  await scan?.return();
  scan = undefined;
  await open.close();
  db = undefined;
  await destroy(STORE);
  for (const id of ["loaded", "scanned", "cared"]) write(id, "");
  element("value").textContent = "";
  element("entries").replaceChildren();
  toggle("more", false);
  await start();
}

function on(id: string, event: string, body: () => void): void {
  element(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    body();
  });
}

fillSelect("format", Object.entries(formats));
element("file").addEventListener("change", () => {
  const file = input("file").files?.[0];
  if (file !== undefined) element<HTMLSelectElement>("format").value = guessFormat(file.name);
  describeFile().catch(showFailure);
});
on("format", "change", () => void describeFile().catch(showFailure));
on("load", "submit", () => act(loadFile));
on("cancel", "click", () => loading?.abort());
on("get", "submit", () => act(look));
on("scan", "submit", () => act(beginScan));
on("more", "click", () => act(continueScan));
on("check", "click", () => act(check));
on("clear", "click", () => act(clear));
on("retry", "click", () => void (db === undefined ? start() : showFailure(undefined)));
void start();
