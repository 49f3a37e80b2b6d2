import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

const at = (path: string) => new URL(path, import.meta.url).pathname;

/**
 * Has the page load its fonts at once, since it is laid out with them: none is named in its HTML. Those of the
 * chapters come with them.
 */
const preloadedFonts: Plugin = {
  name: "preloaded-fonts",
  transformIndexHtml: {
    order: "post",
    handler: (_, { bundle, path }) =>
      Object.keys(path === "/index.html" ? (bundle ?? {}) : {})
        .filter((name) => /barlow.*\.woff2$/.test(name))
        .map((name) => ({
          tag: "link",
          attrs: { rel: "preload", as: "font", href: `./${name}`, crossorigin: "" },
        })),
  },
};

export default defineConfig({
  plugins: [svelte(), preloadedFonts],
  // The site works under any path.
  base: "./",
  // The package is a link to its folder beside this one; the simulator's module is built there, too.
  server: { fs: { allow: [".."] } },
  resolve: {
    alias: { "terrane-sim": at("../target/sim-wasm") },
  },
  build: {
    target: "es2022",
    rolldownOptions: {
      input: {
        index: at("index.html"),
        store: at("store.html"),
        embed: at("src/visualizer/embed.ts"),
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
