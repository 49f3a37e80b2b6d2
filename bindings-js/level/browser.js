/** A Level database on the origin private file system, or in memory. */

import { destroy, open } from "terrane";
import { levelOf } from "./level.js";

export const TerraneLevel = levelOf({ destroy, open });
