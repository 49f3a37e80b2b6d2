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

/** Distance of the label from the tip, and from the edges of the picture, in pixels. */
const [ASIDE, AWAY, EDGE] = [26, 30, 4];

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

/**
 * Returns the arrow to a box, from a label of this size: above it, or below it near the upper edge, and where it is
 * only a key, above which there are words.
 */
export function arrowTo(
  box: Box,
  { width, height }: { width: number; height: number },
  picture: { width: number },
): Arrow {
  const above = box.width > 0 && box.y - AWAY - height >= EDGE;
  const x = box.x + box.width / 2;
  const right = x + ASIDE + width + EDGE <= picture.width;
  const left = right ? x + ASIDE : Math.max(x - ASIDE - width, EDGE);
  const tip = above ? box.y - 2 : box.y + box.height + 2;
  const top = above ? box.y - AWAY - height : tip + AWAY;
  return {
    label: { x: left, y: top, width, height },
    from: [right ? left : left + width, above ? top + height : top],
    tip: [x, tip],
  };
}
