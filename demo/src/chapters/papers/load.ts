/** Loads the figures of a folder of docs/papers, which are in modules of their own. */

const FIGURES = {
  bucketlsm: () => import("virtual:paper/bucketlsm"),
  fluid: () => import("virtual:paper/fluid"),
  partitioning: () => import("virtual:paper/partitioning"),
  ptierdb: () => import("virtual:paper/ptierdb"),
  spooky: () => import("virtual:paper/spooky"),
  vertiorizon: () => import("virtual:paper/vertiorizon"),
};

/** A folder of docs/papers that has a chapter. */
export type PaperFolder = keyof typeof FIGURES;

/** Loads the figures, and the component that shows them. */
export async function loadPaper(folder: PaperFolder) {
  const [{ default: Paper }, { default: figure }] = await Promise.all([
    import("./Paper.svelte"),
    FIGURES[folder](),
  ]);
  return { Paper, figure };
}
