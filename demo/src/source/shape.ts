/** A keyspace as it is, and what happens to it from there on. */

import type { Capacity, Db, Event, Fact, Level, PolicyOptions, Stats } from "terrane";

/** Content of a store, and its events since. */
export interface Shape {
  levels: Level[];
  policy: PolicyOptions;
  capacities: Capacity[];
  facts: Fact[];
  stats: Stats;
  events: AsyncGenerator<Event>;
}

/**
 * Asks for a keyspace and for events in one message, which the store's worker serves in one turn: no event is
 * missing between them, and none is there twice.
 */
export async function shapeOf(db: Db, name: string): Promise<Shape> {
  const keyspace = db.keyspace(name, { create: false });
  const listening = db.events();
  const [levels, policy, stats] = await Promise.all([
    keyspace.levels(),
    keyspace.policy(),
    db.stats(),
  ]);
  // Events that came before these replies are in the levels; those from here on are not.
  const events = db.events();
  await listening.return();
  const own = stats.keyspaces.find((one) => one.name === name);
  const capacities = own?.levels.map(({ capacity }) => capacity) ?? [];
  return { levels, policy, capacities, facts: own?.policyFacts ?? [], stats, events };
}
