/** Modules with the papers' figures, and the reports as files of the site. */

import type { Plugin } from "vite";
import { type Choice, CHOICES } from "./choice.ts";
import { figureOf } from "./figure.ts";

/** Start of the names of the modules. */
const MODULES = "virtual:paper/";

const FOLDER = new URL("../../docs/papers/", import.meta.url).pathname;

/** The plugin. `virtual:paper/spooky` is the figure of that folder of docs/papers. */
export const papers: Plugin = {
  name: "papers",
  resolveId: (id) => (id.startsWith(MODULES) ? `\0${id}` : undefined),
  async load(id) {
    if (!id.startsWith(`\0${MODULES}`)) return undefined;
    const folder = id.slice(MODULES.length + 1);
    const choice: Choice | undefined = CHOICES[folder as keyof typeof CHOICES];
    if (choice === undefined) throw new Error(`expected a choice of numbers for ${folder}`);
    const figure = await figureOf(folder, choice, (path) => {
      this.addWatchFile(`${FOLDER}${path}`);
      return this.fs.readFile(`${FOLDER}${path}`, { encoding: "utf8" });
    });
    return `export default ${JSON.stringify(figure)}`;
  },
  async generateBundle() {
    for (const folder of Object.keys(CHOICES)) {
      const source = await this.fs.readFile(`${FOLDER}${folder}/README.md`, { encoding: "utf8" });
      this.emitFile({ type: "asset", fileName: `papers/${folder}.txt`, source });
    }
  },
};
