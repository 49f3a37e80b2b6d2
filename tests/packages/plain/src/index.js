import { open } from "../node_modules/terrane/dist/index.js";

const own = new Worker(new URL("./own.js", import.meta.url), { type: "module" });

Object.assign(window, { openStore: open, own });
