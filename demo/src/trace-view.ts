/** How a read went: the places it looked into, in words, and in the picture of the tree. */

import type { Step, Trace } from "terrane";
import { compareKeys } from "./key-scale.ts";
import type { TreeView, Visit } from "./tree-view.ts";
import { element } from "./dom.ts";
import { bytes, count, keyText, plural } from "./format.ts";

/** A place that a read looked into, and what was found there. */
interface Place {
  name: string;
  tables: number[];
  visit: Visit;
  found: string[];
  /** Where an iteration stands in it. */
  stands: Uint8Array | null;
}

/** Shows a trace in the element of that id, and in the tree with the key where the read ended. */
export function showTrace(
  id: string,
  { steps, counts }: Trace,
  tree: TreeView,
  key: Uint8Array | undefined,
): void {
  const places = toPlaces(steps);
  const box = element(id);
  box.hidden = false;
  box.querySelector("ol")?.replaceChildren(...places.map(toItem));
  const sums = [
    `${plural(counts.filterNegatives, "table")} spared by filters`,
    `${plural(counts.blocks, "block")} looked into, ${count(counts.blocksCached)} of them cached`,
    `${bytes(counts.bytesRead)} read`,
  ];
  const note = box.querySelector("p");
  if (note !== null) note.textContent = `${sums.join(", ")}.`;
  const visits = places.flatMap(({ tables, visit }) => tables.map((id) => [id, visit] as const));
  tree.mark(key, new Map(visits));
}

/** Takes a trace away. */
export function hideTrace(id: string, tree: TreeView): void {
  element(id).hidden = true;
  tree.mark(undefined);
}

function toItem({ name, found, visit }: Place): HTMLElement {
  const item = document.createElement("li");
  item.dataset.visit = visit;
  const place = document.createElement("strong");
  place.textContent = `${name}:`;
  item.append(place, ` ${found.join("; ")}`);
  return item;
}

function toPlaces(steps: Step[]): Place[] {
  const places: Place[] = [];
  for (const step of steps) {
    const name = begin(step);
    if (name !== undefined) {
      places.push({ name, tables: [], visit: "searched", found: [], stands: null });
    }
    const place = places.at(-1);
    if (step.step === "row") end(places, step);
    else if (place !== undefined) take(place, step);
  }
  // A run without a table for the key ends where it begins.
  for (const { found } of places) if (found.length === 0) found.push("no table spans the key");
  return places;
}

/** The name of the place that a step begins. */
function begin(step: Step): string | undefined {
  if (step.step === "memtable") {
    return step.place === 0 ? "Memtable" : `Memtable ${step.place} that waits`;
  }
  return step.step === "run" ? `Level ${step.level}, run ${step.run}` : undefined;
}

/** The first entry is of the newest place that stands on it. */
function end(places: Place[], { key, bytes: size }: Step & { step: "row" }): void {
  const place = places.find(({ stands }) => stands !== null && compareKeys(stands, key) === 0);
  if (place === undefined) return;
  place.visit = "found";
  place.found.push(`this is the first entry, ${bytes(size)}`);
}

/** Adds what a step found to its place. */
function take(place: Place, step: Step): void {
  switch (step.step) {
    case "run":
      if (step.table !== null) enter(place, step.table);
      return;
    case "table":
      enter(place, step.table);
      return;
    case "filter":
      place.found.push(step.mayContain ? "the filter lets it pass" : "the filter says no");
      if (!step.mayContain) place.visit = "spared";
      return;
    case "block":
      place.found.push(`a block of ${bytes(step.bytes)} from the ${ORIGINS[step.origin]}`);
      return;
    case "value":
      place.visit = "found";
      place.found.push(`found, ${bytes(step.bytes)}, write ${count(step.sequence)}`);
      return;
    case "tombstone":
      place.visit = "found";
      place.found.push(`deleted by write ${count(step.sequence)}`);
      return;
    case "newer":
      place.found.push("only newer versions");
      return;
    case "absent":
      // A filter that says no has said it.
      if (place.visit === "spared") return;
      place.found.push(step.falsePositive ? "not there, the filter was wrong" : "not there");
      return;
    case "stands":
      place.stands = step.key;
      place.found.push(step.key === null ? "nothing here" : `stands on ${keyText(step.key)}`);
      return;
    default:
  }
}

function enter(place: Place, table: number): void {
  place.tables.push(table);
  place.name += `, table ${table}`;
}

const ORIGINS = { cache: "cache", "read-ahead": "read-ahead", medium: "file" };
