import * as terrane from "terrane";

const own = new Worker(new URL("./own.js", import.meta.url), { type: "module" });

Object.assign(window, { terrane, own });
