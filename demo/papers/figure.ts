/** Makes the figures of a chapter from the chosen numbers of docs/papers. */

import type {
  Headline,
  Marks,
  Panel,
  PaperCase,
  PaperFigure,
  PaperRun,
} from "../src/chapters/papers/figure.ts";
import type { Cell, Choice, ChosenHeadline, ChosenPanel, Source } from "./choice.ts";
import { type HeadlineRow, headlinesOf, type Measured, numbersOf } from "./read.ts";

/** Reads a file, by its path in docs/papers. */
export type ReadFile = (path: string) => Promise<string>;

/** A file of configurations. */
interface Configurations {
  cases: { name: string; config: { policy: Record<string, unknown>; "buffer-bytes": number } }[];
}

/** Returns the figures of a folder of docs/papers. A chosen number that is missing is an error. */
export async function figureOf(
  folder: string,
  choice: Choice,
  readFile: ReadFile,
): Promise<PaperFigure> {
  const source = new Folder(folder, readFile);
  const rows = headlinesOf(await readFile("README.md"));
  const headlines = await Promise.all(
    choice.headlines.map((chosen) => headlineOf(source, rows, chosen)),
  );
  const panels = await Promise.all(choice.panels.map((panel) => panelOf(source, panel)));
  const runs = (choice.runs ?? []).map(async ({ name, config, run }) => ({
    name,
    run: await source.run(config, run),
  }));
  const { config, case: name } = choice.again;
  await source.run(config, name);
  return {
    about: choice.about,
    headlines,
    panels,
    runs: await Promise.all(runs),
    again: { config: `docs/papers/${folder}/${config}.json`, case: name },
  };
}

/** The files of one folder, each read once. */
class Folder {
  readonly #name: string;
  readonly #readFile: ReadFile;
  readonly #texts = new Map<string, Promise<string>>();

  constructor(name: string, readFile: ReadFile) {
    this.#name = name;
    this.#readFile = readFile;
  }

  #text(file: string): Promise<string> {
    const text = this.#texts.get(file) ?? this.#readFile(`${this.#name}/${file}`);
    this.#texts.set(file, text);
    return text;
  }

  /** Returns a number of a figure. */
  async number([figure, name, measure]: Cell): Promise<Measured> {
    const file = `${figure}.csv`;
    const found = numbersOf(await this.#text(file)).get(`${name}: ${measure}`);
    if (found !== undefined) return found;
    throw new Error(`expected ${measure} of “${name}” in docs/papers/${this.#name}/${file}`);
  }

  /** Returns a number, or the ratio of two. */
  async measured(source: Source): Promise<Measured> {
    if (!("of" in source)) return this.number(source);
    const [of, over] = [await this.number(source.of), await this.number(source.over)];
    const paper = of.paper && over.paper && of.paper / over.paper;
    return { ours: of.ours / over.ours, paper, source: of.source };
  }

  /** Returns the policy of a configuration. */
  async run(file: string, name: string): Promise<PaperRun> {
    const { cases } = JSON.parse(await this.#text(`${file}.json`)) as Configurations;
    const found = cases.find((one) => one.name === name)?.config;
    if (found !== undefined) return { policy: found.policy, buffer: found["buffer-bytes"] };
    throw new Error(`expected “${name}” in docs/papers/${this.#name}/${file}.json`);
  }
}

async function headlineOf(
  source: Folder,
  rows: readonly HeadlineRow[],
  { name, ours, changed = [], why }: ChosenHeadline,
): Promise<Headline> {
  const row = rows.find((row) => row.name === name);
  if (row === undefined)
    throw new Error(`expected the headline “${name}” in docs/papers/README.md`);
  const marks = ours && (await marksOf(source, ours, changed));
  if (marks?.paper.length === 0) marks.paper = rangeOf(row.paper);
  return { ...row, ...(why !== undefined && { why }), ...(marks && { marks }) };
}

async function marksOf(
  source: Folder,
  ours: readonly Source[],
  changed: readonly Source[],
): Promise<{ -readonly [name in keyof Marks]: Marks[name] }> {
  const found = await Promise.all(ours.map((one) => source.measured(one)));
  const others = await Promise.all(changed.map((one) => source.measured(one)));
  return {
    paper: found.flatMap(({ paper }) => paper ?? []),
    ours: found.map((one) => one.ours),
    changed: others.map((one) => one.ours),
  };
}

/** Returns the ends of a range such as `1.2 to 2.5`, or none if a text is no range. */
function rangeOf(text: string): number[] {
  const [, least, most] = /^([\d.]+) to ([\d.]+)$/.exec(text) ?? [];
  return least === undefined ? [] : [Number(least), Number(most)];
}

async function panelOf(
  source: Folder,
  { title, by = "", config, cases }: ChosenPanel,
): Promise<Panel> {
  const made = cases.map(async ({ name, ours, changed, run }): Promise<PaperCase> => {
    const marks = await marksOf(source, [ours], changed ? [changed] : []);
    if (marks.paper.length === 0)
      throw new Error(`expected a number of the paper for ${ours.join(", ")}`);
    const there = config !== undefined && run !== undefined;
    return { name, ...marks, ...(there && { run: await source.run(config, run) }) };
  });
  const sorted = (await Promise.all(made)).sort((a, b) => (a.paper[0] ?? 0) - (b.paper[0] ?? 0));
  const sources = await Promise.all(
    cases.map(async ({ ours }) => (await source.number(ours)).source),
  );
  const stated = sources.every((one) => one === "equation") ? "equation" : "the paper";
  return { title, by, stated, cases: sorted };
}
