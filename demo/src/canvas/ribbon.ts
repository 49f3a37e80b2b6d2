/** Draws the ribbon: a whole recording, with time from left to right. */

import { columns, tickStep, type Track } from "../layout/tracks.ts";
import type { Sample } from "../timeline/history.ts";
import type { Timeline } from "../timeline/timeline.ts";
import { curve, hatch, line, type Pen } from "./marks.ts";
import { levelColour, type Palette } from "./palette.ts";

/** Height of an overfull level over its capacity. */
const OVER = 1.25;

/** A recording in the ribbon. */
export interface RibbonScene {
  timeline: Timeline;
  rivals: readonly Timeline[];
  tracks: readonly Track[];
  width: number;
  height: number;
  palette: Palette;
  /** Microseconds. */
  duration: number;
}

/** Draws all but the moment. */
export function drawRibbon(pen: Pen, scene: RibbonScene): void {
  const { width, height, palette, tracks } = scene;
  pen.fillStyle = palette.page;
  pen.fillRect(0, 0, width, height);
  const samples = columns(scene.timeline.history.samples, scene.duration, Math.max(width, 1));
  for (const track of tracks) {
    if (track.name === "fullness") drawFullness(pen, scene, track, samples);
    else if (track.name === "amplification") drawAmplification(pen, scene, track, samples);
    else if (track.name === "waits") drawWaits(pen, scene, track);
    else if (track.name === "workers") drawWorkers(pen, scene, track);
    else drawTicks(pen, scene, track);
  }
}

/** Draws the fullness of a level; above the dashes it is over its capacity. */
function drawFullness(
  pen: Pen,
  { width, palette }: RibbonScene,
  track: Track,
  samples: Sample[],
): void {
  const { top, height, level } = track;
  const most = Math.max(...samples.map(({ bytes }) => bytes[level] ?? 0), 1);
  const part = ({ fullness, bytes }: Sample) => fullness[level] ?? (bytes[level] ?? 0) / most;
  pen.fillStyle = levelColour(palette, level);
  samples.forEach((sample, x) => {
    const tall = Math.min(part(sample) / OVER, 1) * height;
    pen.fillRect(x, top + height - tall, 1, tall);
  });
  const dashes = top + height - height / OVER;
  line(pen, [0, dashes], [width, dashes], palette.ink3, 0.75, [1.5, 3]);
}

function drawAmplification(pen: Pen, scene: RibbonScene, track: Track, samples: Sample[]): void {
  const { palette, rivals, duration, width } = scene;
  const factor = ({ accepted, written }: Sample) => (accepted === 0 ? 0 : written / accepted);
  const others = rivals.map(({ history }) => columns(history.samples, duration, width));
  const most = Math.max(...[samples, ...others].flat().map(factor), 1);
  const draw = (of: Sample[], colour: string, lineWidth: number, dashes: number[]) => {
    const y = (sample: Sample) => track.top + track.height * (1 - factor(sample) / most);
    const points = of.map((sample, x) => [x, y(sample)] as const);
    curve(pen, points, colour, lineWidth, dashes);
  };
  others.forEach((of, i) => draw(of, palette.ink3, 1, i === 0 ? [1, 3] : [5, 3]));
  draw(samples, palette.ink, 1.5, []);
}

function drawWaits(pen: Pen, scene: RibbonScene, { top, height }: Track): void {
  const { timeline, palette, width, duration } = scene;
  line(pen, [0, top + height], [width, top + height], palette.rule, 1);
  const at = (micros: number) => (micros / duration) * width;
  for (const { from, to, reason } of timeline.history.waits) {
    const box = {
      x: at(from),
      y: top,
      width: Math.max(at(to ?? duration) - at(from), 0.6),
      height,
    };
    if (reason === "level0") {
      pen.fillStyle = palette.live;
      pen.fillRect(box.x, box.y, box.width, box.height);
    } else if (box.width > 3) hatch(pen, box, palette.live);
    else {
      pen.globalAlpha = 0.4;
      pen.fillStyle = palette.live;
      pen.fillRect(box.x, box.y + height / 2, box.width, height / 2);
      pen.globalAlpha = 1;
    }
  }
}

function drawWorkers(pen: Pen, scene: RibbonScene, { top, height }: Track): void {
  const { timeline, palette, width, duration } = scene;
  const { works, lanes } = timeline.history;
  const each = height / Math.max(lanes, 1);
  const at = (micros: number) => (micros / duration) * width;
  for (const { from, to, level, lane } of works) {
    pen.fillStyle = levelColour(palette, level);
    pen.fillRect(
      at(from),
      top + lane * each,
      Math.max(at(to ?? duration) - at(from), 0.6),
      each - 1.5,
    );
  }
}

function drawTicks(
  pen: Pen,
  { palette, width, duration }: RibbonScene,
  { top, height }: Track,
): void {
  const all = duration / 1e6;
  const step = tickStep(all);
  line(pen, [0, top], [width, top], palette.ink3, 1);
  pen.fillStyle = palette.ink2;
  pen.font = "12px 'Barlow Semi Condensed', sans-serif";
  for (let at = 0; at <= all; at += step) {
    const x = (at / all) * width;
    line(pen, [x, top], [x, top + 4], palette.ink3, 1);
    const text = at === 0 ? "0 s" : String(Number(at.toFixed(3)));
    const room = pen.measureText(text).width + 2;
    if (x + room < width) pen.fillText(text, x + 2, top + height - 1);
  }
}
