/** The place of what is watched, and the arrow to it. */

import type { SightTarget } from "../timeline/sights.ts";
import type { Bands } from "./bands.ts";
import type { KeyAxis } from "./key-axis.ts";
import { type Box, boxOf } from "./rows.ts";
import type { Strata } from "./strata.ts";

/** An arrow from a label. */
export interface Arrow {
  label: Box;
  from: readonly [x: number, y: number];
  tip: readonly [x: number, y: number];
}

/** Distances of the label from the tip, and from the edges of the picture, and of the tip from a mark, in pixels. */
const [ASIDE, AWAY, EDGE, MARK] = [26, 30, 4, 9];

/** A table whose filter is wrong, and the key that is read. */
export interface WrongFilter {
  table: number;
  key: Uint8Array;
}

/** Returns the place of a target, as far as it can be seen. */
export function sightBox(
  target: SightTarget,
  { axis, bands, strata, width }: { axis: KeyAxis; bands: Bands; strata: Strata; width: number },
  wrong: WrongFilter | undefined,
): Box | undefined {
  if ("key" in target) {
    const { temperatures } = bands;
    const x = axis.position(target.key) * width;
    return temperatures && { x, y: temperatures.top, width: 0, height: temperatures.height };
  }
  if ("read" in target) {
    const box = boxOf(strata.rows, wrong?.table);
    return box && wrong && { ...box, x: axis.position(wrong.key) * width, width: 0 };
  }
  for (const id of target.tables) {
    const box = boxOf(strata.rows, id);
    if (box === undefined) continue;
    const [x, end] = [Math.max(box.x, 0), Math.min(box.x + box.width, width)];
    return end < x ? undefined : { ...box, x, width: end - x };
  }
  return undefined;
}

/** Returns the arrow to a box, from a label of this size: above it, or below it near the upper edge. */
export function arrowTo(
  box: Box,
  label: { width: number; height: number },
  picture: { width: number },
): Arrow {
  const { width, height } = label;
  const above = box.y - AWAY - height >= EDGE;
  const x = box.x + box.width / 2;
  // A mark on a key has words on its right.
  if (box.width === 0 && above && x - AWAY - width >= EDGE) {
    const middle = box.y + box.height / 2;
    const place = { x: x - AWAY - width, y: middle + EDGE };
    return {
      label: { ...place, ...label },
      from: [x - AWAY, place.y + EDGE],
      tip: [x - MARK, middle],
    };
  }
  const right = x + ASIDE + width + EDGE <= picture.width;
  const left = right ? x + ASIDE : Math.max(x - ASIDE - width, EDGE);
  const tip = above ? box.y - 2 : box.y + box.height + 2;
  const top = above ? box.y - AWAY - height : tip + AWAY;
  return {
    label: { x: left, y: top, ...label },
    from: [right ? left : left + width, above ? top + height : top],
    tip: [x, tip],
  };
}
