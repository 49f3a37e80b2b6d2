/** How a get went: the places it looked into, in words, and in the picture of the tree. */

import type { Trace } from "terrane";
import type { Visit } from "./tree-view.ts";
import { element } from "./view.ts";
import { bytes, count, plural } from "./words.ts";

type Step = Trace["steps"][number];

/** A place that a get looked into, and what was found there. */
interface Place {
  text: string;
  table: number | undefined;
  visit: Visit;
  found: string[];
}

/** Shows a trace in `#trace`; answers what it did with which tables. */
export function showTrace({ steps, counts }: Trace): Map<number, Visit> {
  const places: Place[] = [];
  for (const step of steps) {
    const begun = begin(step);
    if (begun !== undefined) places.push(begun);
    const place = places.at(-1);
    if (place !== undefined && begun === undefined) take(place, step);
  }
  element("trace").replaceChildren(
    ...places.map(({ text, found, visit }) => {
      const item = document.createElement("li");
      item.dataset.visit = visit;
      const place = document.createElement("strong");
      place.textContent = text;
      item.append(place, ` ${found.join("; ")}`);
      return item;
    }),
  );
  const sums = [
    `${plural(counts.filterNegatives, "table")} spared by filters`,
    `${plural(counts.blocks, "block")} looked into, ${count(counts.blocksCached)} of them cached`,
    `${bytes(counts.bytesRead)} read`,
  ];
  element("trace-sums").textContent = `${sums.join(", ")}.`;
  return new Map(
    places.flatMap(({ table, visit }) => (table === undefined ? [] : [[table, visit]])),
  );
}

/** The place that a step begins. */
function begin(step: Step): Place | undefined {
  if (step.step === "memtable") {
    const which = step.place === 0 ? "Memtable" : `Memtable ${step.place} that waits`;
    return { text: `${which}:`, table: undefined, visit: "searched", found: [] };
  }
  if (step.step !== "run") return undefined;
  const { level, run, table } = step;
  const text = `Level ${level}, run ${run}`;
  if (table === null) {
    const found = ["no table spans the key"];
    return { text: `${text}:`, table: undefined, visit: "spared", found };
  }
  return { text: `${text}, table ${table}:`, table, visit: "searched", found: [] };
}

/** Adds what a step found to its place. */
function take(place: Place, step: Step): void {
  switch (step.step) {
    case "filter":
      place.found.push(step.mayContain ? "the filter lets it pass" : "the filter says no");
      if (!step.mayContain) place.visit = "spared";
      return;
    case "block": {
      const from = { cache: "cache", "read-ahead": "read-ahead", medium: "file" }[step.origin];
      place.found.push(`a block of ${bytes(step.bytes)} from the ${from}`);
      return;
    }
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
    default:
  }
}
