/** A Level database on the origin private file system, or in memory. */

import { destroy, open } from "terrane";
import { ClientStore } from "./client-store.js";
import { levelOf } from "./level.js";

export const TerraneLevel = levelOf({
  destroy,
  formats: { view: true },
  getSync: false,
  open: async (name, options) => new ClientStore(await open(name, options)),
});
