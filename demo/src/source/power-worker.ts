/** The worker of a store that can lose its power: the package's own, with a switch. */

// First: it hears the page before the store does, whose files it changes.
import "./power-switch.ts";
import "terrane/dist/worker.js";
