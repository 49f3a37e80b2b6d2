/** Loading the sample data, or the chosen columns of a file. */

import type { Db } from "terrane";
import { load, type Progress, sample, type Source } from "./load.ts";
import { type Columns, columnsOf, type Format, formats, guessFormat, NUMBER } from "./parse.ts";
import { act } from "./store.ts";
import { element, fillSelect, on, showFailure, toggle, write } from "./dom.ts";
import { weather } from "./sample-data.ts";
import { bytes, count, plural, time } from "./format.ts";

/** The pause after each batch of a slow load, in milliseconds. */
const PAUSE = 80;

let loading: AbortController | undefined;

const chosenFile = () => element<HTMLInputElement>("file").files?.[0];
const choice = (id: string) => element<HTMLSelectElement>(id).value;

/** Sets up the panel; `loaded` is called after each load. */
export function loadPanel(loaded: (db: Db) => Promise<void>): void {
  fillSelect("format", Object.entries(formats));
  on("file", "change", () => {
    const file = chosenFile();
    if (file !== undefined) element<HTMLSelectElement>("format").value = guessFormat(file.name);
    describeFile().catch(showFailure);
  });
  on("format", "change", () => void describeFile().catch(showFailure));
  on("load", "submit", () => {
    const file = chosenFile();
    const columns = { key: choice("key-column"), value: choice("value-column") };
    if (file !== undefined) begin(file, choice("format") as Format, columns);
  });
  on("load-weather", "click", () => begin(weather, "tsv", { key: "key", value: "value" }));
  on("cancel", "click", () => loading?.abort());

  function begin(source: Source, format: Format, columns: Columns): void {
    act((db) => run(db, source, format, columns).finally(() => loaded(db)));
  }
}

async function describeFile(): Promise<void> {
  const file = chosenFile();
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

async function run(db: Db, source: Source, format: Format, columns: Columns): Promise<void> {
  if (loading !== undefined) return;
  loading = new AbortController();
  showLoading(true);
  write("loaded", "");
  write("state", "Loading…");
  write("keys", "…");
  try {
    const rest = element<HTMLInputElement>("slowly").checked ? PAUSE : 0;
    const pace = { rest, signal: loading.signal };
    const done = await load(db, source, format, columns, pace, showProgress);
    write("loaded", `Loaded ${plural(done.rows, "row")} in ${time(done.milliseconds)}.`);
  } catch (error) {
    if (!loading.signal.aborted) throw error;
    write("loaded", "Stopped. The rows loaded so far are kept.");
  } finally {
    loading = undefined;
    showLoading(false);
  }
}

function showLoading(running: boolean): void {
  toggle("cancel", running);
  toggle("progress", running);
  for (const id of ["start", "load-weather", "clear"]) {
    element<HTMLButtonElement>(id).disabled = running;
  }
  if (!running) element<HTMLButtonElement>("start").disabled = chosenFile() === undefined;
}

function showProgress({ rows, bytes: read, totalBytes, milliseconds }: Progress): void {
  const [bar] = element("progress").getElementsByTagName("progress");
  if (bar !== undefined) bar.value = totalBytes === 0 ? 1 : read / totalBytes;
  const seconds = Math.max(milliseconds, 1) / 1000;
  const rate = `${count(rows / seconds)} rows/s, ${bytes(read / seconds)}/s`;
  write("rate", `${plural(rows, "row")}, ${rate}`);
}
