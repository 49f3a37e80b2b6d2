/** The chapters: each explains one idea on an example to try, and ends in a question. */

import { basics } from "./about/basics.ts";
import { bucket } from "./about/bucket.ts";
import { choose } from "./about/choose.ts";
import { crash } from "./about/crash.ts";
import { deletes } from "./about/deletes.ts";
import { filters } from "./about/filters.ts";
import { horizontal } from "./about/horizontal.ts";
import { levels } from "./about/levels.ts";
import { partitions } from "./about/partitions.ts";
import { ptier } from "./about/ptier.ts";
import { scans } from "./about/scans.ts";
import { spooky } from "./about/spooky.ts";
import { stalls } from "./about/stalls.ts";
import type { Chapter } from "./chapter.ts";

/** All chapters, in the order in which they are best read. */
export const CHAPTERS: readonly Chapter[] = [
  basics,
  crash,
  levels,
  filters,
  scans,
  stalls,
  deletes,
  partitions,
  horizontal,
  spooky,
  ptier,
  bucket,
  choose,
];

/** A chapter by its id. */
export function chapterOf(id: string): Chapter | undefined {
  return CHAPTERS.find((chapter) => chapter.id === id);
}
