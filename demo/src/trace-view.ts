/** The trace of a read: the sources that it searched, as text and in the tree. */

import type { Step, Trace } from "terrane";
import { compareKeys } from "./visualizer/timeline/key-order.ts";
import type { TreeView, Visit } from "./tree-view.ts";
import { element } from "./dom.ts";
import { bytes, count, keyText, plural } from "./format.ts";

/** A source that a read searched, and what it found there. */
interface Source {
  name: string;
  tables: number[];
  visit: Visit;
  found: string[];
  /** The key at which the source's cursor is. */
  stands: Uint8Array | null;
}

/** Shows a trace in the element with that id, and in the tree with the key at which the read ended. */
export function showTrace(
  id: string,
  { steps, counts }: Trace,
  tree: TreeView,
  key: Uint8Array | undefined,
): void {
  const sources = toSources(steps);
  const box = element(id);
  box.hidden = false;
  box.querySelector("ol")?.replaceChildren(...sources.map(toItem));
  const sums = [
    `${plural(counts.filterNegatives, "table")} skipped by filters`,
    `${plural(counts.blocks, "block")} read, ${count(counts.blocksCached)} of them cached`,
    `${bytes(counts.bytesRead)} read from storage`,
  ];
  const note = box.querySelector("p");
  if (note !== null) note.textContent = `${sums.join(", ")}.`;
  const visits = sources.flatMap(({ tables, visit }) => tables.map((id) => [id, visit] as const));
  tree.mark(key, new Map(visits));
}

/** Hides a trace. */
export function hideTrace(id: string, tree: TreeView): void {
  element(id).hidden = true;
  tree.mark(undefined);
}

function toItem({ name, found, visit }: Source): HTMLElement {
  const item = document.createElement("li");
  item.dataset.visit = visit;
  const source = document.createElement("strong");
  source.textContent = `${name}:`;
  item.append(source, ` ${found.join("; ")}`);
  return item;
}

function toSources(steps: Step[]): Source[] {
  const sources: Source[] = [];
  for (const step of steps) {
    const name = sourceOf(step);
    if (name !== undefined) {
      sources.push({ name, tables: [], visit: "searched", found: [], stands: null });
    }
    const source = sources.at(-1);
    if (step.step === "row") markFirst(sources, step);
    else if (source !== undefined) addStep(source, step);
  }
  // A run has no further steps if none of its tables covers the key.
  for (const { found } of sources) if (found.length === 0) found.push("no table covers the key");
  return sources;
}

/** The name of the source that a step starts to search. */
function sourceOf(step: Step): string | undefined {
  if (step.step === "memtable") {
    return step.place === 0 ? "Memtable" : `Immutable memtable ${step.place}`;
  }
  return step.step === "run" ? `Level ${step.level}, run ${step.run}` : undefined;
}

/** The first entry is from the newest source whose cursor is at its key. */
function markFirst(sources: Source[], { key, bytes: size }: Step & { step: "row" }): void {
  const source = sources.find(({ stands }) => stands !== null && compareKeys(stands, key) === 0);
  if (source === undefined) return;
  source.visit = "found";
  source.found.push(`this is the first entry, ${bytes(size)}`);
}

/** Adds what a step found to its source. */
function addStep(source: Source, step: Step): void {
  switch (step.step) {
    case "run":
      if (step.table !== null) enter(source, step.table);
      return;
    case "table":
      enter(source, step.table);
      return;
    case "filter":
      source.found.push(step.mayContain ? "the filter says maybe" : "the filter says no");
      if (!step.mayContain) source.visit = "skipped";
      return;
    case "block":
      source.found.push(`a block of ${bytes(step.bytes)} from the ${ORIGINS[step.origin]}`);
      return;
    case "value":
      source.visit = "found";
      source.found.push(`found, ${bytes(step.bytes)}, write ${count(step.sequence)}`);
      return;
    case "tombstone":
      source.visit = "found";
      source.found.push(`deleted by write ${count(step.sequence)}`);
      return;
    case "newer":
      source.found.push("only newer versions");
      return;
    case "absent":
      // The filter has already ruled the key out.
      if (source.visit === "skipped") return;
      source.found.push(step.falsePositive ? "not there (a false positive)" : "not there");
      return;
    case "stands":
      source.stands = step.key;
      source.found.push(step.key === null ? "nothing here" : `at ${keyText(step.key)}`);
      return;
    default:
  }
}

function enter(source: Source, table: number): void {
  source.tables.push(table);
  source.name += `, table ${table}`;
}

const ORIGINS = { cache: "cache", "read-ahead": "read-ahead", vfs: "file" };
