/** Sentences on whether the order of a paper's numbers holds here. */

import type { Headline, Marks, PaperCase } from "./figure.ts";

/** Returns 1 if all ratios have the first of two designs ahead, -1 if the second; undefined if they disagree. */
function ahead(ratios: readonly number[]): number | undefined {
  const [first, ...others] = ratios.map((ratio) => Math.sign(ratio - 1));
  return others.every((one) => one === first) ? first : undefined;
}

/** Whether ratios are on the paper's side of 1; undefined where it states no ratio. */
export function agrees(
  marks: Marks,
  ratios: readonly number[],
  paper: string,
): boolean | undefined {
  const stated = paper === "more" ? 1 : ahead(marks.paper);
  return stated === undefined ? undefined : ahead(ratios) === stated;
}

/** Says whether the order of a headline holds, and with what. */
export function verdictOf({ holds, by, marks, paper, changed, why }: Headline): string {
  if (!holds) return [`The order does not hold, even with ${by}.`, why].filter(Boolean).join(" ");
  if (by === "") return "The order holds.";
  const before = marks && agrees(marks, marks.ours, paper);
  if (before === true) return `The order holds; with ${by}: ${changed}.`;
  return `The order holds with ${by}, and not without.`;
}

/** Counts the pairs of cases, and the pairs that our numbers have in the paper's order. */
export function inOrder(
  cases: readonly PaperCase[],
  numberOf: (one: PaperCase) => number | undefined,
): { pairs: number; same: number } {
  let [pairs, same] = [0, 0];
  cases.forEach((one, i) => {
    for (const other of cases.slice(i + 1)) {
      const stated = Math.sign((one.paper[0] ?? 0) - (other.paper[0] ?? 0));
      const ours = Math.sign((numberOf(one) ?? 0) - (numberOf(other) ?? 0));
      if (stated === 0) continue;
      pairs += 1;
      if (ours === stated) same += 1;
    }
  });
  return { pairs, same };
}

/** Says how many pairs of cases are in the paper's order. */
export function orderOf(cases: readonly PaperCase[], by: string): string {
  const before = inOrder(cases, ({ ours }) => ours[0]);
  const after = inOrder(cases, ({ ours, changed }) => changed[0] ?? ours[0]);
  const all = before.same === before.pairs;
  const said = all
    ? `All ${before.pairs} pairs are in the paper's order`
    : `${before.same} of ${before.pairs} pairs are in the paper's order`;
  if (by === "" || all) return `${said}.`;
  return `${said}, and ${after.same === before.same ? "as many" : after.same} with ${by}.`;
}
