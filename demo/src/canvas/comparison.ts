/** Trees beside each other as one picture, each below its name. */

import { inset, type Pen } from "./marks.ts";
import { levelColour } from "./palette.ts";
import type { Picture } from "./picture.ts";
import { label } from "./policy-marks.ts";
import { drawTree, type Scene } from "./tree.ts";

/** Pixels between two trees, and for their names. */
const GAP = 16;
const HEAD = 24;
/** The square of a level's colour. */
const SQUARE = 8;

/** One of the trees. */
export interface ComparedTree {
  name: string;
  /** Text of each level. */
  levels: readonly string[];
  scene: Scene;
}

/** The picture of trees that are compared. */
export function comparison(trees: readonly ComparedTree[]): Picture {
  const all = trees.reduce((sum, { scene }) => sum + scene.width + GAP, -GAP);
  return {
    width: Math.max(all, 1),
    height: HEAD + Math.max(...trees.map(({ scene }) => scene.height), 0),
    draw(pen) {
      let x = 0;
      for (const tree of trees) {
        const { width, height, palette } = tree.scene;
        pen.fillStyle = palette.page;
        pen.fillRect(x, 0, width + GAP, HEAD + height);
        pen.font = "600 14px 'Barlow Semi Condensed', sans-serif";
        pen.fillStyle = palette.ink;
        pen.fillText(tree.name, x, HEAD - 8);
        inset(pen, { x, y: HEAD, width, height }, () => drawCompared(pen, tree));
        x += width + GAP;
      }
    },
  };
}

function drawCompared(pen: Pen, { scene, levels }: ComparedTree): void {
  drawTree(pen, { ...scene, pace: 0 });
  const { bands, palette } = scene;
  bands.levels.forEach(({ top }, depth) => {
    label(pen, levels[depth] ?? "", 20, top + 6, palette.ink2, palette.bed);
    pen.fillStyle = levelColour(palette, depth);
    pen.fillRect(7, top - 2, SQUARE, SQUARE);
  });
}
