/** Reads the numbers, configurations and headlines of docs/papers. */

import type { Headline } from "../src/chapters/papers/figure.ts";

/** A number of a figure: ours, and the paper's if it states one. */
export interface Measured {
  ours: number;
  paper: number | undefined;
  /** Origin of the paper's number: measured, derived, or one of its equations. */
  source: string;
}

/** A row of the table of headlines. */
export type HeadlineRow = Omit<Headline, "why" | "marks">;

/** Heading of the table of headlines. */
const HEADING = "| headline | the paper | its figure | with that | holds | by |";

/** Splits a line of CSV, whose texts are quoted. */
function fields(line: string): string[] {
  return [...line.matchAll(/"((?:[^"]|"")*)"|([^,"]+)|(?<=,)(?=,)/g)].map(
    ([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain,
  );
}

/** Returns the numbers of a figure's CSV, by case and measure. */
export function numbersOf(csv: string): Map<string, Measured> {
  const [heading, ...lines] = csv.trim().split("\n");
  const columns = "case,measure,ours,paper,ratio,source";
  if (heading !== columns) throw new Error(`expected the columns ${columns}, found ${heading}`);
  return new Map(
    lines.map((line) => {
      const [name = "", measure = "", ours, paper, , source = ""] = fields(line);
      return [
        `${name}: ${measure}`,
        { ours: Number(ours), paper: paper ? Number(paper) : undefined, source },
      ];
    }),
  );
}

/** Returns the rows of the table of headlines in the README of the papers. */
export function headlinesOf(readme: string): HeadlineRow[] {
  const [, after] = readme.split(`${HEADING}\n`);
  if (after === undefined) throw new Error(`expected a table that starts with ${HEADING}`);
  const lines = after.split("\n").slice(1);
  const rows: HeadlineRow[] = [];
  for (const line of lines) {
    if (!line.startsWith("|")) break;
    const cells = line.split("|").map((cell) => cell.trim());
    const [, name = "", paper = "", ours = "", changed = "", holds = "", by = ""] = cells;
    const above = rows.at(-1)?.by ?? "";
    rows.push({
      name,
      paper,
      ours,
      changed,
      holds: holds.replaceAll("*", "") === "yes",
      by: by.replace("the same", above),
    });
  }
  return rows;
}
