/** Tables that hold prefixes and came one after another: some are merged, the others moved as they are. */

/** A table; a greater age is newer. */
export interface AgedTable {
  name: string;
  age: number;
  prefixes: readonly string[];
}

/** The example: oldest first. */
export const TABLES: readonly AgedTable[] = [
  { name: "t1", age: 1, prefixes: ["a", "b"] },
  { name: "t2", age: 2, prefixes: ["b"] },
  { name: "t3", age: 3, prefixes: ["a", "c"] },
  { name: "t4", age: 4, prefixes: ["a", "d"] },
  { name: "t5", age: 5, prefixes: ["d"] },
];

/** A case of the rule: tables that share the prefix a, oldest first, and what becomes of them in short sentences. */
export interface Case {
  title: string;
  tables: readonly AgedTable[];
  sentences: readonly string[];
}

const named = (...sets: string[]): AgedTable[] =>
  sets.map((set, i) => ({ name: `t${i + 1}`, age: i + 1, prefixes: [...set] }));

/** The cases of the rule. */
export const CASES: readonly Case[] = [
  {
    title: "Three tables or more",
    tables: named("ab", "a", "ac"),
    sentences: [
      "Three tables hold a.",
      "They are merged, whatever else they hold.",
      "A read of a then asks one table, not three.",
    ],
  },
  {
    title: "Two, each with one prefix",
    tables: named("a", "a"),
    sentences: ["Both hold a and nothing else.", "They are of a kind, so they are merged."],
  },
  {
    title: "Two, each with several",
    tables: named("ab", "ac"),
    sentences: ["Both hold a beside other prefixes.", "They are of a kind, so they are merged."],
  },
  {
    title: "Two, one of each kind",
    tables: named("ab", "a"),
    sentences: [
      "One holds a alone, the other holds b as well.",
      "A merge would rewrite b for nothing.",
      "So both move, and a read of a asks two tables.",
    ],
  },
];

/**
 * The tables that the paper's rule merges: those with a prefix that three or more have, or that two of a kind have:
 * both with a single prefix, or both with several.
 */
export function byRule(tables: readonly AgedTable[]): Set<string> {
  const shared = (prefix: string) => {
    const holders = tables.filter(({ prefixes }) => prefixes.includes(prefix));
    const singles = holders.filter(({ prefixes }) => prefixes.length === 1).length;
    return holders.length >= 3 || (holders.length === 2 && singles !== 1);
  };
  return new Set(tables.filter(({ prefixes }) => prefixes.some(shared)).map(({ name }) => name));
}

/** Takes in every table that overlaps an older one of the merge and is itself older than its output. */
export function closed(tables: readonly AgedTable[], merged: ReadonlySet<string>): Set<string> {
  const all = new Set(merged);
  for (let before = -1; before !== all.size;) {
    before = all.size;
    const inputs = tables.filter(({ name }) => all.has(name));
    const newest = Math.max(...inputs.map(({ age }) => age));
    for (const table of tables) {
      const overlaps = inputs.some(
        (input) => input.age < table.age && input.prefixes.some((p) => table.prefixes.includes(p)),
      );
      if (overlaps && table.age < newest) all.add(table.name);
    }
  }
  return all;
}

/** Prefixes whose newest version a read no longer finds: the merge's output is as new as its newest input. */
export function stale(tables: readonly AgedTable[], merged: ReadonlySet<string>): string[] {
  const inputs = tables.filter(({ name }) => merged.has(name));
  const output = Math.max(...inputs.map(({ age }) => age));
  const prefixes = [...new Set(tables.flatMap(({ prefixes }) => prefixes))].sort();
  return prefixes.filter((prefix) => {
    const holders = tables.filter(({ prefixes }) => prefixes.includes(prefix));
    const newest = Math.max(...holders.map(({ age }) => age));
    const places = holders.map(({ name, age }) =>
      merged.has(name)
        ? { place: output, version: newestOf(inputs, prefix) }
        : { place: age, version: age },
    );
    const first = places.reduce((a, b) => (b.place > a.place ? b : a));
    return first.version !== newest;
  });
}

function newestOf(tables: readonly AgedTable[], prefix: string): number {
  return Math.max(
    ...tables.filter(({ prefixes }) => prefixes.includes(prefix)).map(({ age }) => age),
  );
}
