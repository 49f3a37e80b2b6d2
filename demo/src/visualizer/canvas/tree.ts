/**
 * Draws a tree: its levels as strata, what is read and written, and where it goes.
 *
 * Bytes are conserved: at the front of a merge solid input becomes hatched while its output grows, and
 * both are on disk until the output is installed. What is moved glides; what is rewritten never does.
 */

import type { Bands } from "../layout/bands.ts";
import type { Borehole } from "../layout/borehole.ts";
import type { KeyAxis } from "../layout/key-axis.ts";
import { policyMarks, type PrefixRule } from "../layout/policy-marks.ts";
import { type GroupBox, NARROW, type Strata, type TableBox } from "../layout/strata.ts";
import type { Place } from "../source/read-path.ts";
import type { State } from "../timeline/state.ts";
import { drawBorehole } from "./borehole.ts";
import { hatch, line, outline, type Pen, tombstones } from "./marks.ts";
import { keyline, levelColour, type Palette } from "./palette.ts";
import { drawBorder, drawFilter, drawMarks, drawPrefixes } from "./policy-marks.ts";

/** How long a table glides, a new one rises and a flushed one settles, in milliseconds. */
const GLIDE = 320;
const RISE = 160;
const SETTLE = 240;
/** How far a merge's output rises when it is installed, in pixels. */
const RISE_HEIGHT = 8;

/** One picture. */
export interface Scene {
  state: State;
  strata: Strata;
  axis: KeyAxis;
  bands: Bands;
  width: number;
  height: number;
  palette: Palette;
  /** The time of the picture, in microseconds. */
  micros: number;
  /** Microseconds of the recording for a millisecond of the visitor; 0 while nothing moves. */
  pace: number;
  selected: number | undefined;
  /** Where the cuts of groups are, in pixels. */
  cuts: readonly number[];
  /** How the policy takes prefixes from keys, if it does. */
  prefixes: PrefixRule | undefined;
  /** A read, and what is said of its places. */
  borehole?: { hole: Borehole; text: (places: readonly Place[]) => string } | undefined;
}

/** Draws a scene. */
export function drawTree(pen: Pen, scene: Scene): void {
  const { width, height, palette } = scene;
  pen.fillStyle = palette.bed;
  pen.fillRect(0, 0, width, height);
  drawMemory(pen, scene);
  drawBeds(pen, scene);
  // A small picture shows levels alone.
  const small = scene.bands.memory.height <= 0;
  const marks = policyMarks(scene.state, scene.axis, scene.bands, width);
  if (!small) drawBorder(pen, marks, scene);
  for (const box of scene.strata.tables) drawTable(pen, scene, box);
  if (!small) drawMarks(pen, marks, scene);
  for (const at of scene.cuts) drawCut(pen, scene, at);
  for (const group of scene.strata.groups) drawGroup(pen, scene, group);
  drawSelection(pen, scene);
  if (scene.borehole !== undefined) {
    drawBorehole(pen, scene.borehole.hole, scene, scene.borehole.text);
  }
}

function drawMemory(pen: Pen, { bands, state, width, palette }: Scene): void {
  const { top, height } = bands.memory;
  if (height <= 0) return;
  const shown = Math.min(state.sealed.length, 4);
  const each = Math.min(height / Math.max(shown, 1) - 2, 9);
  for (let i = 0; i < shown; i++) {
    const y = top + height - (i + 1) * (each + 2);
    const box = { x: 0, y, width, height: each };
    tombstones(pen, box, 0.7, palette.ink3);
    outline(pen, box, palette.ink3, 0.75);
  }
  line(pen, [0, top + height + 3], [width, top + height + 3], palette.ink, 1.5);
}

function drawBeds(pen: Pen, { bands, state, width, palette }: Scene): void {
  bands.levels.forEach(({ top, height, scale }, depth) => {
    const bottom = top + height;
    line(pen, [0, bottom + 0.5], [width, bottom + 0.5], palette.ink2, 1);
    const bytes = state.capacities[depth]?.bytes ?? null;
    if (bytes === null) return;
    const y = bottom - bytes * scale;
    if (y > top - 10) line(pen, [0, y], [width, y], palette.ink3, 1, [1.5, 3.5]);
  });
}

function drawTable(pen: Pen, scene: Scene, box: TableBox): void {
  const { palette, state } = scene;
  const { table, level, group } = box;
  const [shift, opacity] = arrivalOf(scene, box);
  const at = { ...box, y: box.y + shift };
  pen.globalAlpha = opacity;
  const fresh =
    table.compaction !== 0 && table.compaction === state.latest?.id && table.arrival === "merged";
  if (group !== undefined && !group.moved) drawInput(pen, scene, at);
  else {
    pen.fillStyle = levelColour(palette, level);
    pen.fillRect(at.x, at.y, at.width, at.height);
    if (fresh) {
      pen.globalAlpha = opacity * 0.18;
      pen.fillStyle = palette.bed;
      pen.fillRect(at.x, at.y, at.width, at.height);
      pen.globalAlpha = opacity;
    }
  }
  if (at.width >= NARROW) {
    outline(pen, at, keyline(palette, level), 0.75);
    if (scene.bands.memory.height > 0) {
      drawFilter(pen, at, palette);
      if (scene.prefixes !== undefined) drawPrefixes(pen, at, scene.prefixes, scene.axis, scene);
    }
    if (table.tombstones > 0) {
      tombstones(pen, at, table.tombstones / Math.max(table.entries, 1), palette.bed);
    }
  }
  if (fresh) line(pen, [at.x, at.y - 1.5], [at.x + at.width, at.y - 1.5], palette.ink, 1.5);
  if (table.arrival === "moved" && shift !== 0) outline(pen, at, palette.ink, 1.5, [4, 3]);
  pen.globalAlpha = 1;
}

/** An input of a merge: hatched where it was read, solid where it was not. */
function drawInput(pen: Pen, { palette, strata }: Scene, box: TableBox): void {
  const front = strata.groups.find(({ group }) => group === box.group)?.front ?? box.x;
  const read = Math.min(Math.max(front - box.x, 0), box.width);
  pen.fillStyle = levelColour(palette, box.level);
  pen.fillRect(box.x + read, box.y, box.width - read, box.height);
  hatch(pen, { ...box, width: read }, palette.ink3);
}

/** How far from its place a table is, and its opacity. */
function arrivalOf(scene: Scene, { table, level, y }: TableBox): [shift: number, opacity: number] {
  if (scene.pace === 0) return [0, 1];
  const passed = (scene.micros - table.since) / scene.pace;
  const part = (duration: number) => Math.min(Math.max(passed / duration, 0), 1);
  if (table.arrival === "moved" && table.from !== null && table.from !== level) {
    const from = scene.bands.levels[table.from];
    const to = scene.bands.levels[level];
    if (from === undefined || to === undefined || passed >= GLIDE) return [0, 1];
    const distance = from.top + from.height - (to.top + to.height);
    return [distance * (1 - easeInOut(part(GLIDE))), 1];
  }
  if (table.arrival === "flushed" && passed < SETTLE) {
    const left = 1 - easeOut(part(SETTLE));
    return [(scene.bands.memory.top + scene.bands.memory.height - y) * left * 0.6, 1 - left * 0.7];
  }
  if (table.arrival === "merged" && passed < RISE) return [RISE_HEIGHT * (1 - part(RISE)), 1];
  return [0, 1];
}

function drawCut(pen: Pen, { bands, palette }: Scene, x: number): void {
  const bottom = bands.writing.top;
  line(pen, [x, bands.levels[0]?.top ?? 0], [x, bottom], palette.ink3, 0.75);
}

function drawGroup(
  pen: Pen,
  { bands, palette }: Scene,
  { group, front, output, edges }: GroupBox,
): void {
  const top = Math.min(...edges.map(({ y }) => y));
  // A small picture has no room for what is being written, and edges would hide its runs.
  const small = bands.writing.height === 0;
  if (!small) for (const edge of edges) outline(pen, edge, palette.live, 1.5);
  if (!small && output.height > 0) {
    pen.fillStyle = levelColour(palette, group.level);
    pen.fillRect(output.x, output.y, output.width, output.height);
    outline(pen, output, palette.live, 1.5);
  }
  const bottom = small ? Math.max(...edges.map((e) => e.y + e.height)) : output.y;
  line(pen, [front, top - 6], [front, bottom + output.height + 3], palette.live, 2);
}

function drawSelection(pen: Pen, { strata, selected, palette }: Scene): void {
  const box = strata.tables.find(({ table }) => table.id === selected);
  if (box === undefined) return;
  outline(
    pen,
    { x: box.x - 2, y: box.y - 2, width: box.width + 4, height: box.height + 4 },
    palette.ink,
    2,
  );
}

function easeInOut(part: number): number {
  return part < 0.5 ? 4 * part ** 3 : 1 - (-2 * part + 2) ** 3 / 2;
}

function easeOut(part: number): number {
  return 1 - (1 - part) ** 3;
}
