/** The choice of a policy in words. */

import { type Costs, deviceMicros, keepsUp, type pick } from "./models/choice.ts";

/** A policy and its costs. */
interface Measured {
  name: string;
  costs: Costs;
}

const micros = (costs: Costs) => `${deviceMicros(costs).toFixed(1)} µs`;

/** Returns costs in a few words. */
export function costsText({ write, read, space }: Costs): string {
  const writes = `writes ${write.toFixed(1)} bytes for each byte accepted`;
  const reads = `reads ${read.toFixed(2)} blocks for each get or scan`;
  return `${writes}, ${reads}, and takes ${space.toFixed(2)} times the space of the data`;
}

/** Returns the reasons for a choice, and against cheaper policies. */
export function reasonsText(all: readonly Measured[], choice: ReturnType<typeof pick>): string[] {
  const of = (at: number | undefined) => (at === undefined ? undefined : all[at]);
  const picked = of(choice.picked);
  if (picked === undefined) return [];
  const { costs } = picked;
  const reads = costs.readMicros > costs.compactionMicros;
  const compactions = `${costs.compactionMicros.toFixed(1)} for flushes and compactions`;
  const parts = `${compactions}, ${costs.readMicros.toFixed(1)} for reads`;
  const waited = Math.round(costs.waited * 100);
  const limits = keepsUp(costs)
    ? "the least within these limits"
    : `and writes wait ${waited} % of the time, the least within the space, where no policy keeps up`;
  const reasons = [
    `An operation takes ${micros(costs)} of the device under it, ${limits}: ${parts}.`,
    `It ${costsText(costs)}.`,
  ];
  const least = all.toSorted((a, b) =>
    reads ? a.costs.write - b.costs.write : a.costs.read - b.costs.read,
  )[0];
  if (least !== undefined && least !== picked) {
    const { write, read, readMicros, compactionMicros } = least.costs;
    const saves = reads
      ? `writes less (${write.toFixed(1)}), but ${readMicros.toFixed(1)} µs go to reads`
      : `reads less (${read.toFixed(2)} blocks), but ${compactionMicros.toFixed(1)} µs go to compactions`;
    reasons.push(`${least.name} ${saves}, and ${micros(least.costs)} in all.`);
  }
  const large = of(choice.tooLarge);
  if (large !== undefined) {
    const taken = large.costs.space.toFixed(2);
    reasons.push(`${large.name} would take ${micros(large.costs)}, and ${taken} times the space.`);
  }
  const slow = of(choice.tooSlow);
  if (slow !== undefined) {
    const waited = Math.round(slow.costs.waited * 100);
    reasons.push(
      `${slow.name} would take ${micros(slow.costs)}, and its writes wait ${waited} % of the time.`,
    );
  }
  return reasons;
}
