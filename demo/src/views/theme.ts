/** The palette of the visitor's colour scheme. */

import { DARK, LIGHT, type Palette } from "../canvas/palette.ts";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The palette now. */
export function palette(): Palette {
  return dark.matches ? DARK : LIGHT;
}

/** Calls back whenever the palette changes; the result ends that. */
export function onPalette(changed: () => void): () => void {
  dark.addEventListener("change", changed);
  return () => dark.removeEventListener("change", changed);
}
