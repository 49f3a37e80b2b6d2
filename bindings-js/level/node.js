/** A Level database on files, or in memory: Node, Deno, Bun and Electron. */

import { destroy, LevelStore } from "terrane-node/level";
import { levelOf } from "./level.js";

export const TerraneLevel = levelOf({
  destroy,
  formats: { utf8: true, view: true },
  getSync: true,
  open: (path, options) => LevelStore.open(path, options),
});
