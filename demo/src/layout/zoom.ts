/** A part of the key space that is shown: heights stay, so that areas are in proportion to bytes as before. */

import type { Table } from "terrane";
import type { KeyAxis } from "./key-axis.ts";

/** Shown part, as positions on the whole axis. */
export interface Zoom {
  readonly from: number;
  readonly to: number;
}

/** All keys. */
export const WHOLE: Zoom = { from: 0, to: 1 };
/** The smallest part that can be shown: a 32nd. */
const LEAST = 1 / 32;

/** The axis of what is shown: its positions from 0 to 1 are in the picture, others lie beside it. */
export function zoomedAxis(axis: KeyAxis, { from, to }: Zoom): KeyAxis {
  if (to - from >= 1) return axis;
  const extent = 1 / (to - from);
  const shown = (position: number) => (position - from) * extent;
  const spans = new WeakMap<Table, readonly [number, number]>();
  return {
    extent,
    position: (key) => shown(axis.position(key)),
    span(table) {
      let span = spans.get(table);
      if (span === undefined) {
        const [first, last] = axis.span(table);
        spans.set(table, (span = [shown(first), shown(last)]));
      }
      return span;
    },
    key: (position) => axis.key(from + position / extent),
  };
}

/** Shows a part that is smaller by a factor, or larger; the position `at` of the picture stays where it is. */
export function zoomBy({ from, to }: Zoom, factor: number, at: number): Zoom {
  const size = Math.min(Math.max((to - from) / factor, LEAST), 1);
  return placed(from + (to - from - size) * at, size);
}

/** Moves what is shown, by a share of the picture. */
export function pan({ from, to }: Zoom, by: number): Zoom {
  return placed(from + (to - from) * by, to - from);
}

/** Moves what is shown if a span of the picture is entirely outside it. */
export function reveal(zoom: Zoom, [from, to]: readonly [number, number]): Zoom {
  return from < 1 && to > 0 ? zoom : pan(zoom, (from + to) / 2 - 0.5);
}

/** A part of this size that lies within all keys. */
function placed(from: number, size: number): Zoom {
  if (size >= 1) return WHOLE;
  const start = Math.min(Math.max(from, 0), 1 - size);
  return { from: start, to: start + size };
}
