import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, loadEnv, type Plugin } from "vite";
import { papers } from "./papers/plugin.ts";

const at = (path: string) => new URL(path, import.meta.url).pathname;

/** Makes the page load at once what nothing names in its HTML. */
const preloads: Plugin = {
  name: "preloads",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle }) => {
      const names = Object.keys(bundle ?? {});
      const link = (as: string) => (name: string) => ({
        tag: "link",
        attrs: { rel: "preload", as, href: `./${name}`, crossorigin: "" },
        injectTo: "head" as const,
      });
      return [
        // The page is laid out with these fonts; those of the chapters come with them.
        ...names.filter((name) => /barlow.*\.woff2$/.test(name)).map(link("font")),
        // A visitor sees a simulation first.
        ...names.filter((name) => /terrane_sim.*\.wasm$/.test(name)).map(link("fetch")),
      ];
    },
  },
};

/** Address of the site, with which the picture of a link to it is found from elsewhere. */
const { TERRANE_SITE: SITE } = loadEnv("", at("."), "TERRANE_");

/** Names the preview picture by its whole address, which most readers of links need. */
const preview: Plugin = {
  name: "preview",
  transformIndexHtml: (html) =>
    SITE === undefined
      ? html
      : html.replace('content="./preview.png"', `content="${new URL("preview.png", SITE).href}"`),
};

export default defineConfig({
  plugins: [svelte(), papers, preloads, preview],
  // The site works under any path.
  base: "./",
  // The package is a link to its folder beside this one; the site's modules are built there.
  server: { fs: { allow: [".."] } },
  resolve: {
    alias: {
      "terrane-sim": at("../target/sim-wasm"),
      "terrane-foreign": at("../target/foreign-wasm"),
    },
  },
  build: {
    target: "es2022",
    rolldownOptions: {
      input: {
        index: at("index.html"),
        embed: at("src/embed.ts"),
      },
      // Other pages load this one by its name.
      output: {
        entryFileNames: ({ name }) => (name === "embed" ? "embed.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  worker: { format: "es" },
  // The package finds its worker and its module beside itself; a bundled copy would not.
  optimizeDeps: { exclude: ["terrane"] },
});
