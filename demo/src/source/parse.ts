/**
 * Parsing the rows of a file while it is read.
 *
 * 1. A format turns chunks of text into records: fields by column.
 * 2. The chosen columns are each record's key and value.
 */

/** A file format. */
export type Format = "lines" | "tsv" | "csv" | "ndjson";

/** The names of the formats. */
export const FORMATS: Record<Format, string> = {
  lines: "Lines of text",
  tsv: "Tab-separated",
  csv: "Comma-separated",
  ndjson: "NDJSON",
};

/** The columns for the key and the value, or NUMBER for the record's number. */
export interface Columns {
  key: string;
  value: string;
}

/** Stands for the record's number in the file, starting at 1. */
export const NUMBER = "#";

/** A record: its fields, by column. */
export type Fields = Record<string, string>;

/** Turns text into records; each call takes the next chunk of the file. */
export interface Reader {
  push(text: string): Fields[];
  /** Returns the last record, which the end of the file completes. */
  end(): Fields[];
}

/** Guesses the format of a file from its name. */
export function guessFormat(name: string): Format {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  switch (extension) {
    case "tsv":
    case "tab":
      return "tsv";
    case "csv":
      return "csv";
    case "json":
    case "jsonl":
    case "ndjson":
      return "ndjson";
    default:
      return "lines";
  }
}

/** The columns to choose from, given the first records of a file. */
export function columnsOf(format: Format, sample: Fields[]): { keys: string[]; values: string[] } {
  const names = [...new Set(sample.flatMap((fields) => Object.keys(fields)))];
  if (format === "lines") return { keys: names, values: [NUMBER] };
  return { keys: names, values: [...names, NUMBER] };
}

/** The columns that are chosen where nobody chooses: those of these names, or else the first two. */
export function usualColumns({ keys, values }: ReturnType<typeof columnsOf>): Columns {
  const key = keys.includes("key") ? "key" : (keys[0] ?? NUMBER);
  const others = values.filter((column) => column !== key);
  const value = others.includes("value") ? "value" : (others[0] ?? NUMBER);
  return { key, value };
}

/** A reader of a format. */
export function readerOf(format: Format): Reader {
  switch (format) {
    case "lines":
      return byLine((line) => ({ line }));
    case "ndjson":
      return byLine(parseJson);
    case "tsv":
      return withHeader(
        byLine((line) => ({ record: line })),
        (record) => record.split("\t"),
      );
    case "csv":
      return withHeader(byQuotedLine(), splitCsv);
  }
}

/** A record for each line; blank lines are skipped. */
function byLine(parse: (line: string) => Fields): Reader {
  let rest = "";
  return {
    push(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      return lines.map(trimReturn).filter(Boolean).map(parse);
    },
    end() {
      const last = trimReturn(rest);
      rest = "";
      return last === "" ? [] : [parse(last)];
    },
  };
}

/** A record for each line; a line break inside quotes does not end it. */
function byQuotedLine(): Reader {
  let open: string[] = [];
  let quotes = 0;
  const join = (line: string): Fields[] => {
    open.push(line);
    quotes += line.split('"').length - 1;
    if (quotes % 2 === 1) return [];
    const record = open.join("\n");
    open = [];
    quotes = 0;
    return record === "" ? [] : [{ record }];
  };
  let rest = "";
  return {
    push(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      return lines.flatMap((line) => join(trimReturn(line)));
    },
    end() {
      const last = join(trimReturn(rest));
      if (open.length > 0)
        throw new Error(`a quote is not closed: ${open.join("\n").slice(0, 60)}`);
      return last;
    },
  };
}

/** Takes the names of the columns from the first record. */
function withHeader(reader: Reader, split: (record: string) => string[]): Reader {
  let header: string[] | undefined;
  const name = (records: Fields[]): Fields[] =>
    records.flatMap(({ record = "" }) => {
      const cells = split(record);
      if (header === undefined) {
        header = cells.map((cell, i) => cell || `column ${i + 1}`);
        return [];
      }
      return [Object.fromEntries(header.map((column, i) => [column, cells[i] ?? ""]))];
    });
  return { push: (text) => name(reader.push(text)), end: () => name(reader.end()) };
}

/** Splits a CSV record; a quote inside quotes is doubled. */
function splitCsv(record: string): string[] {
  const cells = record.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? [];
  // Unless the record ends with a comma, the pattern also matches the empty string at its end.
  if (!record.endsWith(",")) cells.pop();
  return cells.map((cell) => {
    const bare = cell.endsWith(",") ? cell.slice(0, -1) : cell;
    return bare.startsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : bare;
  });
}

function parseJson(line: string): Fields {
  const value: unknown = JSON.parse(line);
  if (typeof value !== "object" || value === null) return { value: line };
  const text = (field: unknown) => (typeof field === "string" ? field : JSON.stringify(field));
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, text(field)]));
}

function trimReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
