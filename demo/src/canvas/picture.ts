/** A picture that is shown, and can be saved: its size in pixels, and how it is drawn. */

import type { Pen } from "./marks.ts";

/** A picture. */
export interface Picture {
  width: number;
  height: number;
  draw(pen: Pen): void;
  /** The same with words around it, for where the page is not. */
  framed?(): Picture;
}
