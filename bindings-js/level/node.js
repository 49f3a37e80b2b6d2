/** A Level database on files, or in memory: Node, Deno, Bun and Electron. */

import { destroy, open } from "terrane-node";
import { open as openSync } from "terrane-node/sync";
import { levelOf } from "./level.js";

export const TerraneLevel = levelOf({ destroy, open, openSync });
