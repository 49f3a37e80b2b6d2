/** What a comparison found, as text and as JSON. */

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
  /** What each contender is and how it is set. */
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

/** The report for people: a table for each place, with ratios of Terrane's median to the others'. */
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
  for (const place of new Set(rows.map((row) => row.place))) {
    lines.push("", ...table(place, Object.keys(contenders), rows));
  }
  return lines.join("\n");
}

function table(place: string, names: string[], rows: Row[]): string[] {
  const [first = "", ...others] = names;
  const heads = [
    `${place === "page" ? "from the page" : "inside the worker"}, per second`,
    ...names,
    ...others.map((name) => `/ ${name}`),
  ];
  const body = rows
    .filter((row) => row.place === place)
    .map(({ workload, perSecond }) => {
      const medians = names.map((name) => median(perSecond[name] ?? []));
      const ratios = medians.slice(1).map((other) => `${(medians[0]! / other).toFixed(1)}x`);
      return [workload, ...medians.map((figure) => Math.round(figure).toString()), ...ratios];
    });
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const rule = heads.map((_, column) => (column === 0 ? "---" : "---:"));
  return [first && line(heads), line(rule), ...body.map(line)];
}

function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
