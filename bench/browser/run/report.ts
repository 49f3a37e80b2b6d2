/** Results of a comparison, as text and as JSON. */

import { cpus, loadavg, platform, release, totalmem } from "node:os";

/** One workload in one place. */
export interface Row {
  place: string;
  workload: string;
  /** Operations per second, one figure a round, by contender. */
  perSecond: Record<string, number[]>;
}

export interface Report {
  date: string;
  browser: string;
  machine: string;
  /** Load averages of the last minute. */
  load: { before: number; after: number };
  /** Contenders, and their settings. */
  contenders: Record<string, string>;
  rounds: number;
  scale: Record<string, number>;
  rows: Row[];
}

/** Processor, memory and system. */
export function machine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const model = processors[0]?.model ?? "unknown processor";
  return `${processors.length} x ${model}, ${memory} GiB, ${platform()} ${release()}`;
}

export function loads(): number {
  return Number(loadavg()[0]!.toFixed(2));
}

/**
 * The report for people: for each place a table of medians, and one of the ratios of the first
 * contender's medians to those of the others.
 */
export function text(report: Report): string {
  const { browser, machine, load, contenders, rounds, scale, rows } = report;
  const lines = [
    `${report.date}, ${browser}, ${machine}`,
    `load average ${load.before} before, ${load.after} after; ${rounds} rounds, medians`,
    Object.entries(scale)
      .map(([name, count]) => `${count} ${name}`)
      .join(", "),
    ...Object.entries(contenders).map(([name, settings]) => `${name}: ${settings}`),
  ];
  const names = Object.keys(contenders);
  const [first = "", ...others] = names;
  const ratio = (row: Row, name: string) =>
    `${(median(row, first) / median(row, name)).toFixed(1)}x`;
  for (const place of new Set(rows.map((row) => row.place))) {
    const here = rows.filter((row) => row.place === place);
    const where = place === "page" ? "from the page" : "inside the worker";
    const rounded = (row: Row, name: string) => Math.round(median(row, name)).toString();
    lines.push("", ...table(`${where}, per second`, names, here, rounded));
    if (others.length > 0) lines.push("", ...table(`${where}, ${first} to`, others, here, ratio));
  }
  return lines.join("\n");
}

/**
 * A line for each workload, a column for each contender. A dash is where one lacks the operation, or
 * where so few were asked for that all of them were warm-up.
 */
function table(
  head: string,
  names: string[],
  rows: Row[],
  cell: (row: Row, name: string) => string,
): string[] {
  const cells = rows.map((row) =>
    names.map((name) => (Number.isNaN(median(row, name)) ? "-" : cell(row, name))),
  );
  const body = rows.map(({ workload }, at) => [workload, ...cells[at]!]);
  const widths = [head, ...names].map((title, column) =>
    Math.max(title.length, ...body.map((line) => line[column]!.length)),
  );
  const line = ([workload = "", ...figures]: string[]) => {
    const padded = figures.map((figure, at) => figure.padStart(widths[at + 1]!));
    return `| ${[workload.padEnd(widths[0]!), ...padded].join(" | ")} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : "-".repeat(width - 1) + ":",
  );
  return [line([head, ...names]), line(rule), ...body.map(line)];
}

/** The median of one contender's figures, and no number where there are none. */
function median({ perSecond }: Row, name: string): number {
  const sorted = [...(perSecond[name] ?? [])].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
