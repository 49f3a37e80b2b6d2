/** Facts of a policy, by name: counters, boundaries, temperatures. */

import type { Fact } from "terrane";

type NumberFact = Extract<Fact, { value: number }>;
type KeyFact = Extract<Fact, { key: Uint8Array }>;

/** A number of the whole tree. */
export function treeFact(facts: readonly Fact[], name: string): number | undefined {
  const found = facts.find(
    (fact): fact is NumberFact => "value" in fact && fact.name === name && fact.of === "tree",
  );
  return found?.value;
}

/** Numbers by level. */
export function levelFacts(facts: readonly Fact[], name: string): Map<number, number> {
  const found = new Map<number, number>();
  for (const fact of facts) {
    if (!("value" in fact) || fact.name !== name) continue;
    if (typeof fact.of === "object" && "levels" in fact.of)
      found.set(fact.of.levels[0], fact.value);
  }
  return found;
}

/** Numbers of the items of a list, in its order. */
export function itemFacts(facts: readonly Fact[], name: string): number[] {
  return ofItems(facts, name, (fact): fact is NumberFact => "value" in fact).map(
    ({ value }) => value,
  );
}

/** Keys of the items of a list, in its order. */
export function keyFacts(facts: readonly Fact[], name: string): Uint8Array[] {
  return ofItems(facts, name, (fact): fact is KeyFact => "key" in fact).map(({ key }) => key);
}

function ofItems<F extends Fact>(
  facts: readonly Fact[],
  name: string,
  is: (fact: Fact) => fact is F,
): F[] {
  const item = ({ of }: Fact) => (typeof of === "object" && "item" in of ? of.item : -1);
  return facts
    .filter(is)
    .filter((fact) => fact.name === name && item(fact) >= 0)
    .sort((a, b) => item(a) - item(b));
}

/** A bucket of the key space: from its first key up to the next bucket's. */
export interface Bucket {
  /** Its first key; empty for the first bucket. */
  from: Uint8Array;
  /** Bytes flushed into it lately. */
  volume: number;
  /** Its share of them, times the number of buckets that equal shares are of. */
  temperature: number;
}

/** Returns N, the number of buckets that an equal share is of: those at the start, unless those present count. */
export function equalShares(buckets: readonly Bucket[]): number {
  const all = buckets.reduce((sum, { volume }) => sum + volume, 0);
  const fullest = buckets.toSorted((a, b) => b.volume - a.volume)[0];
  return fullest && all > 0 ? Math.round((fullest.temperature * all) / fullest.volume) : 0;
}

/** The buckets of a policy that has them, in key order. */
export function bucketsOf(facts: readonly Fact[]): Bucket[] {
  const volumes = itemFacts(facts, "bucket-volume");
  const temperatures = itemFacts(facts, "bucket-temperature");
  return keyFacts(facts, "bucket-boundary").map((from, i) => ({
    from,
    volume: volumes[i] ?? 0,
    temperature: (temperatures[i] ?? 0) / 1000,
  }));
}
