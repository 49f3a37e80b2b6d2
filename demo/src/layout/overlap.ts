/** Tables whose key ranges overlap. */

import { compareKeys } from "../timeline/key-order.ts";
import { search } from "../timeline/search.ts";
import type { PlacedTable } from "../timeline/state.ts";

/** The tables of runs whose ranges of keys meet a table's, without itself. */
export function overlapping(
  runs: Iterable<{ tables: readonly PlacedTable[] }>,
  table: PlacedTable,
): PlacedTable[] {
  const found: PlacedTable[] = [];
  for (const { tables } of runs) {
    // The tables of a run are in key order, and share none.
    const before = (at: number) => {
      const largest = tables[at]?.largest;
      return largest !== undefined && compareKeys(largest, table.smallest) < 0;
    };
    for (let at = search(tables.length, before); at < tables.length; at++) {
      const other = tables[at];
      if (other === undefined || compareKeys(other.smallest, table.largest) > 0) break;
      if (other.id !== table.id) found.push(other);
    }
  }
  return found;
}
