/** A read as a borehole at its key: from the newest place down to where it ends. */

import type { Place, ReadPath } from "../source/read-path.ts";
import { type Bands, memtableRows } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";
import { boxOf } from "./rows.ts";
import type { Strata } from "./strata.ts";

/** The least distance of two labels, in pixels. */
const LINE = 15;

/** A place that the read asked, and where it is drawn. */
export interface BoreMark {
  y: number;
  place: Place;
}

/** A read, drawn. */
export interface Borehole {
  x: number;
  top: number;
  bottom: number;
  marks: BoreMark[];
  /** Places that say the same, one after another, share a label. */
  labels: { y: number; places: Place[] }[];
}

/** Lays out the first places of a read. */
export function boreholeOf(
  path: ReadPath,
  shown: number,
  { axis, bands, strata, width }: { axis: KeyAxis; bands: Bands; strata: Strata; width: number },
): Borehole {
  const { memory } = bands;
  const memtables = path.places.filter(({ memtable }) => memtable !== undefined).length;
  const rows = memtableRows(bands, Math.max(memtables, 1));
  const marks = path.places.slice(0, shown).flatMap((place): BoreMark[] => {
    if (place.memtable !== undefined) {
      const row = rows[Math.min(place.memtable, rows.length - 1)];
      return row === undefined ? [] : [{ y: row.y + row.height / 2, place }];
    }
    const box = boxOf(strata.rows, place.table);
    return box === undefined ? [] : [{ y: box.y + box.height / 2, place }];
  });
  const labels: Borehole["labels"] = [];
  for (const { y, place } of marks) {
    const last = labels.at(-1);
    if (last !== undefined && sameKind(last.places.at(-1), place)) {
      last.places.push(place);
      last.y = Math.max(last.y, y);
    } else labels.push({ y: Math.max(y, (last?.y ?? -LINE) + LINE), places: [place] });
  }
  const bottom = marks.at(-1)?.y ?? memory.top;
  return {
    x: axis.position(path.key) * width,
    top: Math.max(memory.top - 4, 0),
    bottom,
    marks,
    labels,
  };
}

function sameKind(a: Place | undefined, b: Place): boolean {
  const inMemory = ({ memtable }: Place) => memtable !== undefined;
  return a?.verdict === "no" && b.verdict === "no" && inMemory(a) === inMemory(b);
}
