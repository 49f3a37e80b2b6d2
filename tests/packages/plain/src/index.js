import { open } from "../node_modules/terrane/dist/index.js";

Object.assign(window, { openStore: open });
