/** What the page shows: elements by id, the store's figures, and results. */

import type { Stats } from "terrane";
import { bytes, count, plural } from "./words.ts";

/** The element of that id, which index.html has. */
export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no #${id}`);
  return found as T;
}

/** Shows or hides. */
export function toggle(id: string, shown: boolean): void {
  element(id).hidden = !shown;
}

/** Sets an element's text. */
export function write(id: string, text: string): void {
  element(id).textContent = text;
}

/** Shows why something failed; undefined takes the message away. */
export function showFailure(error: unknown): void {
  const box = element("failure");
  box.hidden = error === undefined;
  const text = error instanceof Error ? error.message : String(error ?? "");
  const [paragraph] = box.getElementsByTagName("p");
  if (paragraph !== undefined) paragraph.textContent = text;
}

/** Shows the store's figures and its levels, as strata from the newest data down. */
export function showStats(stats: Stats): void {
  const [keyspace] = stats.keyspaces;
  if (keyspace === undefined) return;
  const { levels, memtableBytes } = keyspace;
  write("size", bytes(stats.space.taken));
  write("memory", bytes(memtableBytes));
  write("tables", count(levels.reduce((sum, level) => sum + level.tables, 0)));
  const largest = Math.max(...levels.map((level) => level.bytes), 1);
  element("levels").replaceChildren(
    ...levels.map((level, depth) => {
      const stratum = document.createElement("li");
      const bar = document.createElement("span");
      const share = level.bytes / largest;
      bar.className = "bar";
      // The least share still shows.
      bar.style.setProperty("--share", String(share === 0 ? 0 : Math.max(share, 0.005)));
      bar.style.setProperty("--depth", String(depth / Math.max(levels.length - 1, 1)));
      const text = document.createElement("span");
      const what =
        level.tables === 0
          ? "empty"
          : `${bytes(level.bytes)} in ${plural(level.tables, "table")}, ${plural(level.runs, "run")}`;
      text.textContent = `Level ${depth}: ${what}`;
      stratum.append(text, bar);
      return stratum;
    }),
  );
}

/** Adds entries to the table of a scan. */
export function showEntries(entries: [string, string][]): void {
  element("entries").append(
    ...entries.map((entry) => {
      const row = document.createElement("tr");
      row.append(
        ...entry.map((text) => {
          const cell = document.createElement("td");
          cell.textContent = text;
          return cell;
        }),
      );
      return row;
    }),
  );
}

/** Fills a choice; keeps what was chosen if it is still there. */
export function fillSelect(id: string, options: [value: string, text: string][]): void {
  const select = element<HTMLSelectElement>(id);
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
