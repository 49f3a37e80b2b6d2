/**
 * Draws a tree: its levels as strata, what is read and written, and where it goes.
 *
 * Bytes are conserved: at the front of a merge solid input becomes hatched while its output grows, and
 * both are on disk until the output is installed. What is moved glides; what is rewritten never does.
 */

import { type Bands, memtableRows } from "../layout/bands.ts";
import type { Borehole } from "../layout/borehole.ts";
import type { KeyAxis } from "../layout/key-axis.ts";
import { overlapping } from "../layout/overlap.ts";
import { policyMarks, type PrefixRule } from "../layout/policy-marks.ts";
import { type Box, boxOf, NARROW, type Row, type TableBox } from "../layout/rows.ts";
import type { GroupBox, Strata } from "../layout/strata.ts";
import type { Place } from "../source/read-path.ts";
import type { PlacedTable, State } from "../timeline/state.ts";
import { drawBorehole } from "./borehole.ts";
import { hatchAll, line, outline, outlineAll, type Pen, tombstones } from "./marks.ts";
import { keyline, levelColour, type Palette } from "./palette.ts";
import { drawBorder, drawMarks } from "./policy-marks.ts";
import { drawMoved, drawRow, drawTables, EDGE, hasFresh, type RowStyle } from "./rows.ts";
import { drawSight } from "./sight.ts";
import type { StillLevels } from "./still.ts";

/** Time in which a table glides, a new one rises and a flushed one settles, in milliseconds. */
const GLIDE = 320;
const RISE = 160;
const SETTLE = 240;
/** Darkness of tables whose key ranges overlap that of the selected one. */
const TINT = 0.28;
/** Height by which a merge's output rises when it is installed, in pixels. */
const RISE_HEIGHT = 8;

/** A table on its way to its place: how far it is from there, and its opacity. */
interface Arrival {
  box: TableBox;
  shift: number;
  opacity: number;
}

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
  /** A table that is selected in another tree: what has its keys is tinted here. */
  beside?: PlacedTable | undefined;
  /** Fullness of the active memtable, from 0 to 1, if known. */
  filling: number | undefined;
  /** Whether the cuts that levels share are left out. */
  plain?: boolean;
  /** Places of the cuts of groups, in pixels. */
  cuts: readonly number[];
  /** Rule by which the policy takes prefixes from keys, if it does. */
  prefixes: PrefixRule | undefined;
  /** A read, and what is said of its places. */
  borehole?:
    { hole: Borehole; text: ((places: readonly Place[]) => string) | undefined } | undefined;
  /** The place of what is watched, which an arrow points at. */
  watched?: Box | undefined;
}

/** Draws a scene, with the levels that stay as they are from `still`. */
export function drawTree(pen: Pen, scene: Scene, still?: StillLevels): void {
  const { width, height, palette, strata } = scene;
  pen.fillStyle = palette.bed;
  pen.fillRect(0, 0, width, height);
  drawMemory(pen, scene);
  drawBeds(pen, scene);
  // A small picture shows levels alone.
  const small = scene.bands.memory.height <= 0;
  const all = policyMarks(scene.state, scene.axis, scene.bands, width);
  const marks = scene.plain ? { ...all, cuts: [] } : all;
  if (!small) drawBorder(pen, marks, scene);
  drawLevels(pen, scene, small, still);
  for (const group of strata.groups) drawInputs(pen, scene, group);
  if (!small) drawMarks(pen, marks, scene);
  for (const at of scene.cuts) drawCut(pen, scene, at);
  for (const group of strata.groups) drawGroup(pen, scene, group);
  drawSelection(pen, scene);
  if (scene.borehole !== undefined) {
    drawBorehole(pen, scene.borehole.hole, scene, scene.borehole.text);
  }
  if (scene.watched !== undefined) drawSight(pen, scene.watched, scene);
}

/** Memtables, the newest on top: the active one fills from below, sealed ones wait to be flushed. */
function drawMemory(pen: Pen, { bands, state, width, palette, filling }: Scene): void {
  const { top, height } = bands.memory;
  if (height <= 0) return;
  memtableRows(bands, 1 + state.sealed.length).forEach(({ y, height }, i) => {
    const full = i === 0 ? height * (filling ?? 0) : height;
    tombstones(pen, { x: 0, y: y + height - full, width, height: full }, 0.7, palette.ink3);
    const box = { x: 0, y, width, height };
    outline(pen, box, palette.ink3, 0.75, i === 0 ? [1.5, 3] : []);
  });
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

function drawLevels(pen: Pen, scene: Scene, small: boolean, still?: StillLevels): void {
  const { strata, bands, state, palette, prefixes, axis, width } = scene;
  const style: RowStyle = { palette, axis, width, small, prefixes, fresh: state.latest?.id };
  bands.levels.forEach((band, depth) => {
    const rows = strata.rows.filter(({ level }) => level === depth);
    const arrivals = rows.flatMap((row) => arrivalsOf(scene, row));
    const apart = new Set(arrivals.map(({ box }) => box));
    const paint = (pen: Pen) => rows.forEach((row) => drawRow(pen, row, apart, style));
    if (still === undefined) paint(pen);
    else {
      const fresh = rows.some((row) => hasFresh(row, style.fresh)) ? style.fresh : undefined;
      const of = [palette, axis, prefixes, fresh, ...rows, ...apart];
      still.draw(pen, depth, { ...band, width }, of, paint);
    }
    for (const arrival of arrivals) drawArrival(pen, arrival, style);
  });
}

function drawArrival(pen: Pen, { box, shift, opacity }: Arrival, style: RowStyle): void {
  const at = { ...box, y: box.y + shift };
  pen.globalAlpha = opacity;
  drawTables(pen, [at], style);
  if (box.table.arrival === "moved") drawMoved(pen, [at], style.palette);
  pen.globalAlpha = 1;
}

/** The inputs of a merge: hatched where they were read. */
function drawInputs(pen: Pen, { palette, width }: Scene, { inputs, front }: GroupBox): void {
  const read = inputs
    .map((box) => {
      const [x, end] = [Math.max(box.x, 0), Math.min(front, box.x + box.width, width)];
      return { ...box, x, width: end - x };
    })
    .filter(({ width }) => width > 0);
  pen.fillStyle = palette.bed;
  for (const { x, y, width, height } of read) pen.fillRect(x, y, width, height);
  hatchAll(pen, read, palette.ink3);
  const wide = inputs.filter((box) => box.x < front && box.width >= NARROW);
  for (const level of new Set(wide.map((box) => box.level))) {
    const boxes = wide.filter((box) => box.level === level);
    outlineAll(pen, boxes, keyline(palette, level), EDGE);
  }
}

/** The tables of a run that are on their way to their places. */
function arrivalsOf(scene: Scene, { wide }: Row): Arrival[] {
  if (scene.pace === 0) return [];
  const since = scene.micros - GLIDE * scene.pace;
  return wide
    .filter(({ table }) => table.since > since)
    .map((box) => ({ box, ...arrivalOf(scene, box) }))
    .filter(({ shift, opacity }) => shift !== 0 || opacity !== 1);
}

function arrivalOf(scene: Scene, { table, level, y }: TableBox): Omit<Arrival, "box"> {
  const still = { shift: 0, opacity: 1 };
  const passed = (scene.micros - table.since) / scene.pace;
  const part = (duration: number) => Math.min(Math.max(passed / duration, 0), 1);
  if (table.arrival === "moved" && table.from !== null && table.from !== level) {
    const from = scene.bands.levels[table.from];
    const to = scene.bands.levels[level];
    if (from === undefined || to === undefined || passed >= GLIDE) return still;
    const distance = from.top + from.height - (to.top + to.height);
    return { ...still, shift: distance * (1 - easeInOut(part(GLIDE))) };
  }
  if (table.arrival === "flushed" && passed < SETTLE) {
    const left = 1 - easeOut(part(SETTLE));
    const { top, height } = scene.bands.memory;
    return { shift: (top + height - y) * left * 0.6, opacity: 1 - left * 0.7 };
  }
  if (table.arrival === "merged" && passed < RISE)
    return { ...still, shift: RISE_HEIGHT * (1 - part(RISE)) };
  return still;
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

function drawSelection(pen: Pen, { strata, selected, beside, palette }: Scene): void {
  const box = boxOf(strata.rows, selected);
  // Ids of another tree mean nothing here.
  const table = box?.table ?? (beside && { ...beside, id: -1 });
  if (table === undefined) return;
  // What shares its keys, above and below.
  pen.globalAlpha = TINT;
  pen.fillStyle = palette.ink;
  for (const row of strata.rows) {
    for (const other of overlapping([row], table)) {
      const { x, y, width, height } = row.box(other);
      pen.fillRect(x, y, width, height);
    }
  }
  pen.globalAlpha = 1;
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
