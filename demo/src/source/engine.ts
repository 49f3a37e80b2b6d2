/** The package, which is loaded once a store is opened: most visitors first see a simulation. */

/** Loads the package. */
export const engine = () => import("terrane");
